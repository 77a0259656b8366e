//! The guard: triggers that refuse every status that the machine's transitions do not lead to.
//!
//! They look at what has become of the row (`AFTER`), so that no other trigger can change it behind them and that an
//! upsert is judged by what it did. Their names stay, so that a new release replaces what an old one installed; the
//! guard's own name, which they carry in their text, says of which transitions they are.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::Dialect;
use super::writer::{Writer, cut, is_one_of, literal, value};
use crate::machine::model::{Model, Repr, StateId, Stored, without_schema};

/// The longest part of the triggers' names that names the table and the column. With the longest end it makes the 63
/// bytes that PostgreSQL keeps.
const LONGEST_BASE: usize = 48;

/// Raised when the text of the triggers changes, so that those of former releases of idem are outdated.
const GENERATION: u32 = 1;

/// What installs and removes the guard and tells which one is installed.
pub(crate) struct GuardSql {
    pub(crate) name: String,
    pub(crate) install: String,
    pub(crate) remove: String,
    pub(crate) find: String,
}

/// The guard of one dialect.
pub(super) fn guard(dialect: Dialect, model: &Model) -> GuardSql {
    let guard = Guard::new(dialect, model);
    GuardSql { name: guard.name(), install: guard.install(), remove: guard.remove(), find: guard.find() }
}

struct Guard<'m> {
    dialect: Dialect,
    model: &'m Model,
    writer: Writer<'m>,
}

impl<'m> Guard<'m> {
    fn new(dialect: Dialect, model: &'m Model) -> Self {
        Self { dialect, model, writer: Writer::new(dialect, model, 0, &[]) }
    }

    /// `orders_status_guard_1a2b3c4d`: two machines that allow the same have one name.
    fn name(&self) -> String {
        format!("{}_{}", base_name(self.model), self.hash())
    }

    fn hash(&self) -> String {
        format!("{:08x}", hash(&table_text(self.model)))
    }

    /// The name of a trigger, with its schema where a statement has to say it.
    fn trigger(&self, event: &str) -> String {
        self.in_schema(&format!("{}_{event}", base_name(self.model)))
    }

    /// A name beside the table.
    fn in_schema(&self, name: &str) -> String {
        format!("{}{}", schema(&self.writer, self.model), self.writer.column(name))
    }

    fn install(&self) -> String {
        match self.dialect {
            Dialect::Postgres => self.install_postgres(),
            Dialect::MySql => self.install_mysql(),
            Dialect::Sqlite => self.install_sqlite(),
        }
    }

    fn remove(&self) -> String {
        match self.dialect {
            Dialect::Postgres => {
                let function = self.in_schema(&base_name(self.model));
                format!("{};\nDROP FUNCTION IF EXISTS {function}()", self.drop_triggers())
            }
            Dialect::MySql | Dialect::Sqlite => self.drop_triggers(),
        }
    }

    fn drop_triggers(&self) -> String {
        let drop = |event: &&str| match self.dialect {
            Dialect::Postgres => format!("DROP TRIGGER IF EXISTS {} ON {}", self.local(event), self.writer.table()),
            Dialect::MySql | Dialect::Sqlite => format!("DROP TRIGGER IF EXISTS {}", self.trigger(event)),
        };
        self.events().iter().map(drop).collect::<Vec<_>>().join(";\n")
    }

    /// What each trigger waits for.
    fn events(&self) -> &'static [&'static str] {
        match self.dialect {
            Dialect::Postgres => &["update", "insert", "delete"],
            Dialect::MySql | Dialect::Sqlite => &["update", "insert"],
        }
    }

    /// `source` is what the row was and `target` what it has become: whether the one leads to the other, or is another
    /// value of the same state. `NULL` and what is no state lead nowhere.
    fn leads(&self, source: &str, target: &str, indent: &str) -> String {
        let states = self.model.state_ids().map(|state| {
            let (from, to) = (values(self.model, [state]), values(self.model, next(self.model, state)));
            format!("{} AND {}", is_one_of(source, &from), is_one_of(target, &to))
        });
        states.collect::<Vec<_>>().join(&format!("\n{indent}OR "))
    }

    /// Whether a value is one of the initial state.
    fn is_initial(&self, status: &str) -> String {
        is_one_of(status, &values(self.model, [self.model.initial]))
    }

    fn message(&self, what: &str) -> String {
        literal(&format!("idem guard {}: {what}", self.name()))
    }

    /// A row that moves to another partition is deleted there and inserted here, and no update: what it was is kept for
    /// the insert that follows. The condition on `tableoid` keeps that from tables that have no partitions.
    fn install_postgres(&self) -> String {
        let (function, table) = (self.in_schema(&base_name(self.model)), self.writer.table());
        let (update, insert, delete) = (self.local("update"), self.local("insert"), self.local("delete"));
        let (of_table, initial) = (literal(&table), self.is_initial(&self.as_value("NEW")));
        let (old, new) = (self.as_value("OLD"), self.as_value("NEW"));
        let (create, drop) = (self.function(&function), self.drop_triggers());
        format!(
            "{create};
{drop};
CREATE TRIGGER {update} AFTER UPDATE ON {table}
  FOR EACH ROW WHEN ({old} IS DISTINCT FROM {new}) EXECUTE FUNCTION {function}();
CREATE TRIGGER {insert} AFTER INSERT ON {table}
  FOR EACH ROW WHEN (({initial}) IS NOT TRUE) EXECUTE FUNCTION {function}();
CREATE TRIGGER {delete} AFTER DELETE ON {table}
  FOR EACH ROW WHEN (OLD.tableoid <> {of_table}::regclass) EXECUTE FUNCTION {function}()"
        )
    }

    /// The name of a trigger that belongs to its table.
    fn local(&self, event: &str) -> String {
        self.writer.column(&format!("{}_{event}", base_name(self.model)))
    }

    fn function(&self, function: &str) -> String {
        let (old, new, ty) = (self.as_value("OLD"), self.as_value("NEW"), self.variable_type());
        let (old_row, new_row) = (self.moved_row("OLD"), self.moved_row("NEW"));
        let (leads, name, column) = (self.leads("source", "target", "     "), self.name(), literal(&self.model.status));
        let (undeclared, not_initial) = (self.message(UNDECLARED), self.message(NOT_INITIAL));
        let (name, opened) = (literal(&name), OPENED);
        let body = format!(
            "
DECLARE
  source {ty};
  target {ty};
  moved jsonb;
BEGIN
  IF TG_OP = 'DELETE' THEN
    moved := jsonb_build_object('row', {old_row}, 'status', {old});
    PERFORM set_config('idem.moved', moved::text, true);
    RETURN NULL;
  END IF;
  target := {new};
  IF TG_OP = 'UPDATE' THEN
    source := {old};
  ELSE
    moved := NULLIF(current_setting('idem.moved', true), '')::jsonb;
    IF moved -> 'row' = {new_row} THEN
      source := moved ->> 'status';
      PERFORM set_config('idem.moved', '', true);
    END IF;
  END IF;
  IF source = target
     OR {leads}
     OR {opened} THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION USING
    ERRCODE = 'ID001',
    MESSAGE = CASE WHEN source IS NULL AND TG_OP = 'INSERT' THEN {not_initial} ELSE {undeclared} END,
    DETAIL = format('%L to %L', source, target),
    SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = {column}, CONSTRAINT = {name};
END
"
        );
        let quote = dollar_quote(&body);
        format!("CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS {quote}{body}{quote}")
    }

    /// The table and the identifier of a row, to know it again.
    fn moved_row(&self, of: &str) -> String {
        format!("jsonb_build_array({}::text, {})", literal(&self.writer.table()), self.writer.id_list(of))
    }

    /// The status of a row as it is compared: by its bytes, whatever the column's own collation takes for equal.
    fn as_value(&self, of: &str) -> String {
        let status = format!("{of}.{}", self.writer.status());
        match (&self.model.repr, self.dialect) {
            (Repr::Int, _) => status,
            (_, Dialect::Postgres) => format!("{status}::text"),
            (_, Dialect::MySql) => format!("CAST(CONVERT({status} USING utf8mb4) AS BINARY)"),
            (_, Dialect::Sqlite) => format!("{status} COLLATE BINARY"),
        }
    }

    fn variable_type(&self) -> &'static str {
        match (&self.model.repr, self.dialect) {
            (Repr::Int, _) => "bigint",
            (_, Dialect::MySql) => "VARBINARY(1024)",
            (_, Dialect::Postgres | Dialect::Sqlite) => "text",
        }
    }

    fn install_mysql(&self) -> String {
        let (table, open, drop) = (self.writer.table(), self.create_open_table(), self.drop_triggers());
        let (update, insert, ty) = (self.trigger("update"), self.trigger("insert"), self.variable_type());
        let (old, new, opened) = (self.as_value("OLD"), self.as_value("NEW"), is_open(self.dialect));
        let (leads, initial) = (self.leads("source", "target", "          "), self.is_initial("target"));
        let (undeclared, not_initial) = (self.message(UNDECLARED), self.message(NOT_INITIAL));
        format!(
            "{open};
{drop};
CREATE TRIGGER {update} AFTER UPDATE ON {table} FOR EACH ROW
BEGIN
  DECLARE source {ty} DEFAULT {old};
  DECLARE target {ty} DEFAULT {new};
  IF NOT (source <=> target)
     AND (   {leads}) IS NOT TRUE
     AND NOT {opened} THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {REFUSED}, MESSAGE_TEXT = {undeclared};
  END IF;
END;
CREATE TRIGGER {insert} AFTER INSERT ON {table} FOR EACH ROW
BEGIN
  DECLARE target {ty} DEFAULT {new};
  IF ({initial}) IS NOT TRUE
     AND NOT {opened} THEN
    SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = {REFUSED}, MESSAGE_TEXT = {not_initial};
  END IF;
END"
        )
    }

    fn install_sqlite(&self) -> String {
        let (table, open, drop) = (self.writer.table_name(), self.create_open_table(), self.drop_triggers());
        let (update, insert, status) = (self.trigger("update"), self.trigger("insert"), self.writer.status());
        let (old, new, opened) = (self.as_value("OLD"), self.as_value("NEW"), is_open(self.dialect));
        let (leads, initial) = (self.leads(&old, &new, "       "), self.is_initial(&new));
        let (undeclared, not_initial) = (self.message(UNDECLARED), self.message(NOT_INITIAL));
        format!(
            "{open};
{drop};
CREATE TRIGGER {update} AFTER UPDATE OF {status} ON {table}
 WHEN {old} IS NOT {new}
  AND (   {leads}) IS NOT TRUE
  AND NOT {opened}
BEGIN
  SELECT RAISE(ABORT, {undeclared});
END;
CREATE TRIGGER {insert} AFTER INSERT ON {table}
 WHEN ({initial}) IS NOT TRUE
  AND NOT {opened}
BEGIN
  SELECT RAISE(ABORT, {not_initial});
END"
        )
    }

    /// The table whose rows open the guard: one that a transaction writes, which no other one sees, and which is gone with
    /// it. A variable of the session would go back to the pool with the connection.
    fn create_open_table(&self) -> String {
        let table = self.in_schema(OPEN);
        match self.dialect {
            Dialect::MySql => {
                format!(
                    "CREATE TABLE IF NOT EXISTS {table} (session BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE = InnoDB"
                )
            }
            _ => format!("CREATE TABLE IF NOT EXISTS {table} (session INTEGER NOT NULL PRIMARY KEY)"),
        }
    }

    /// Tells by one word whether the triggers are there and of these transitions. One of them alone guards nothing.
    fn find(&self) -> String {
        // The whole name may stand in the text with its quotes doubled.
        let hash = literal(&format!("_guard_{}", self.hash()));
        let triggers = self.events().len();
        let (same, from) = match self.dialect {
            Dialect::Postgres => (format!("CASE WHEN strpos(prosrc, {hash}) > 0 THEN 1 END"), self.in_postgres()),
            Dialect::MySql => (format!("LOCATE({hash}, ACTION_STATEMENT) > 0"), self.in_mysql()),
            Dialect::Sqlite => (format!("instr(sql, {hash}) > 0"), self.in_sqlite()),
        };
        format!(
            "SELECT CASE WHEN COUNT(*) < {triggers} THEN 'missing'
            WHEN SUM({same}) = {triggers} THEN 'installed'
            ELSE 'outdated' END AS guard
  FROM {from}"
        )
    }

    fn in_postgres(&self) -> String {
        let (table, names) = (literal(&self.writer.table()), self.names());
        format!(
            "pg_trigger
  JOIN pg_proc ON pg_proc.oid = tgfoid
 WHERE tgrelid = to_regclass({table}) AND tgenabled IN ('O', 'A') AND tgname IN ({names})"
        )
    }

    fn in_mysql(&self) -> String {
        let schema = self.model.table.rsplit_once('.').map(|(schema, _)| literal(schema));
        let (schema, names) = (schema.unwrap_or("DATABASE()".to_owned()), self.names());
        format!("information_schema.TRIGGERS\n WHERE TRIGGER_SCHEMA = {schema} AND TRIGGER_NAME IN ({names})")
    }

    fn in_sqlite(&self) -> String {
        let (schema, names) = (schema(&self.writer, self.model), self.names());
        format!("{schema}sqlite_master\n WHERE type = 'trigger' AND name IN ({names})")
    }

    /// The names of the triggers as texts.
    fn names(&self) -> String {
        let names = self.events().iter().map(|event| literal(&format!("{}_{event}", base_name(self.model))));
        names.collect::<Vec<_>>().join(", ")
    }
}

const UNDECLARED: &str = "undeclared transition";
const NOT_INITIAL: &str = "not an initial state";

/// The error number of MySQL and MariaDB.
const REFUSED: u16 = 45001;

/// The table of an open guard, where it is one.
pub(super) const OPEN: &str = "idem_repair";

/// Whether this very transaction has opened the guard. A value that stays in the session is that of another one.
const OPENED: &str = "current_setting('idem.repair', true) = txid_current()::text";

/// The same where a table says it. On MySQL a session that reads uncommitted rows sees those of others.
fn is_open(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "EXISTS (SELECT 1 FROM idem_repair WHERE session = CONNECTION_ID())",
        Dialect::Postgres | Dialect::Sqlite => "EXISTS (SELECT 1 FROM idem_repair)",
    }
}

/// A quote that does not stand in the text: a stored value may hold any.
fn dollar_quote(text: &str) -> String {
    let mut quote = "$idem$".to_owned();
    while text.contains(&quote) {
        quote.insert(1, '_');
    }
    quote
}

/// `"Shop".`, where the table is named with its schema.
pub(super) fn schema(writer: &Writer<'_>, model: &Model) -> String {
    model.table.rsplit_once('.').map(|(schema, _)| format!("{}.", writer.quoted_path(schema))).unwrap_or_default()
}

/// `orders_status_guard`. What is cut off of a long name is there as a hash.
fn base_name(model: &Model) -> String {
    let full = format!("{}_{}", model.table, model.status);
    let name = format!("{}_{}", without_schema(&model.table), model.status);
    if name.len() <= LONGEST_BASE {
        return format!("{name}_guard");
    }
    let end = format!("_{:08x}", hash(&full));
    format!("{}{end}_guard", cut(name, LONGEST_BASE - end.len()))
}

/// Everything that the guard depends on, whatever the order in which the enum declares it.
fn table_text(model: &Model) -> String {
    let raw = |states: BTreeSet<StateId>| {
        let values: BTreeSet<_> =
            states.into_iter().flat_map(|state| model.state(state).values()).map(Stored::raw).collect();
        format!("{values:?}")
    };
    let only = |state| raw(BTreeSet::from([state]));
    let lines: BTreeSet<_> = model
        .state_ids()
        .map(|state| format!("{} => {}", only(state), raw(next(model, state).into_iter().collect())))
        .collect();
    let is_int = model.repr == Repr::Int;
    format!("{GENERATION} {is_int} {} {} {} {lines:?}", model.table, model.status, only(model.initial))
}

/// The state itself, and those that one event leads to.
fn next(model: &Model, state: StateId) -> Vec<StateId> {
    let edges = model.edges().filter(|(_, source)| source.state == state);
    let others: BTreeSet<_> = edges.map(|(event, _)| event.target).filter(|target| *target != state).collect();
    [state].into_iter().chain(others).collect()
}

/// Every value of these states, as literals.
fn values(model: &Model, states: impl IntoIterator<Item = StateId>) -> Vec<String> {
    states.into_iter().flat_map(|state| model.state(state).values()).map(value).collect()
}

/// FNV-1a: the same on every machine and in every release.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
