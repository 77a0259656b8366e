//! The clauses that statements share, and the account of their parameters.

use super::keywords::is_keyword;
use super::{Bind, Dialect, PerDialect, Statement, Version};
use crate::machine::model::{
    Assignment, Event, Model, Note, Repr, State, StateId, Stored, Value, unraw, without_schema,
};

/// Writes one statement.
pub(super) struct Writer<'m> {
    dialect: Dialect,
    model: &'m Model,
    /// How many fields the event has.
    fields: usize,
    binds: Vec<Bind>,
}

/// Names as one dialect writes them.
pub(crate) struct Names {
    table: String,
    status: String,
    version: Option<String>,
    id: Vec<String>,
}

impl Names {
    fn new(dialect: Dialect, model: &Model) -> Self {
        Self {
            table: quoted_path(dialect, &model.table),
            status: quoted(dialect, &model.status),
            version: model.version.as_ref().map(|version| quoted(dialect, version)),
            id: model.id.iter().map(|column| quoted(dialect, &column.name())).collect(),
        }
    }
}

impl<'m> Writer<'m> {
    /// `order` says which parameter has which number, where parameters have one. MySQL's have none: there each
    /// occurrence is a parameter of its own.
    pub(super) fn new(dialect: Dialect, model: &'m Model, fields: usize, order: &[Bind]) -> Self {
        let binds = if dialect == Dialect::MySql { Vec::new() } else { order.to_vec() };
        Self { dialect, model, fields, binds }
    }

    pub(super) fn finish(self, sql: String) -> Statement {
        Statement { sql, binds: self.binds }
    }

    /// The parameters that `bind` stands for, at their next occurrence in the text.
    fn parameters(&mut self, bind: Bind) -> Vec<String> {
        let width = self.width(bind);
        if self.dialect == Dialect::MySql {
            self.binds.push(bind);
            return vec!["?".to_owned(); width];
        }
        let before: usize = self.binds.iter().take_while(|it| **it != bind).map(|it| self.width(*it)).sum();
        let sign = if self.dialect == Dialect::Postgres { '$' } else { '?' };
        (before + 1..=before + width).map(|number| format!("{sign}{number}")).collect()
    }

    fn width(&self, bind: Bind) -> usize {
        match bind {
            Bind::Fields => self.fields,
            Bind::Id => self.model.id.len(),
            Bind::Note => self.notes().len(),
            _ => 1,
        }
    }

    fn notes(&self) -> &'m [Note] {
        self.model.history.as_ref().map_or(&[], |history| &history.notes)
    }

    /// The columns of a history that are there when they are declared, each followed by a comma.
    pub(super) fn note_columns(&self) -> String {
        self.notes().iter().flat_map(|note| [note.column(), ", "]).collect()
    }

    /// What goes into them.
    pub(super) fn note_values(&mut self) -> String {
        let postgres = self.dialect == Dialect::Postgres;
        let values = self.parameters(Bind::Note).into_iter().zip(self.notes()).map(|(value, note)| match note {
            Note::Actor if postgres => format!("{value}::text, "),
            Note::Metadata if postgres => format!("{value}::text::jsonb, "),
            Note::Actor | Note::Metadata => format!("{value}, "),
        });
        values.collect()
    }

    /// A parameter that is one value.
    pub(super) fn parameter(&mut self, bind: Bind) -> String {
        self.parameters(bind).concat()
    }

    /// A parameter that is one text, with its type where PostgreSQL cannot know it.
    pub(super) fn text(&mut self, bind: Bind) -> String {
        let cast = if self.dialect == Dialect::Postgres { "::text" } else { "" };
        format!("{}{cast}", self.parameters(bind).concat())
    }

    /// `order_id = $2`, the columns of the table (or alias) `of`.
    pub(super) fn id_is(&mut self, of: &str) -> String {
        let parameters = self.parameters(Bind::Id);
        let parts = self.id().iter().zip(parameters);
        parts.map(|(column, parameter)| format!("{}{column} = {parameter}", dot(of))).collect::<Vec<_>>().join(" AND ")
    }

    /// `seen.order_id = caused.order_id`.
    pub(super) fn same_id(&self, one: &str, other: &str) -> String {
        let parts = self.id().iter().map(|column| format!("{}{column} = {}{column}", dot(one), dot(other)));
        parts.collect::<Vec<_>>().join(" AND ")
    }

    fn names(&self) -> &'m Names {
        let (names, model) = (&self.model.names, self.model);
        names.get_or_init(|| PerDialect::new(|dialect| Names::new(dialect, model))).of(self.dialect)
    }

    fn id(&self) -> &'m [String] {
        &self.names().id
    }

    /// `orders.order_id, orders.tenant_id`.
    pub(super) fn id_list(&self, of: &str) -> String {
        self.id().iter().map(|column| format!("{}{column}", dot(of))).collect::<Vec<_>>().join(", ")
    }

    /// `status = 'pending'` or `status IN ('paid', 'shipped')`, with every value that stands for one of the sources.
    pub(super) fn is_source(&self, event: &Event, of: &str) -> String {
        let sources = event.sources.iter().flat_map(|source| self.model.state(source.state).values());
        is_one_of(&format!("{}{}", dot(of), self.status()), &sources.map(value).collect::<Vec<_>>())
    }

    /// The same of the history's column `target`, which holds text.
    pub(super) fn is_target(&self, event: &Event) -> String {
        let values = self.model.state(event.target).values();
        is_one_of("target", &values.map(|value| literal(&value.raw())).collect::<Vec<_>>())
    }

    /// ` AND version = $5`, when the caller names one.
    pub(super) fn and_version(&mut self, version: Version, of: &str) -> String {
        match (version, self.version()) {
            (Version::Expected, Some(column)) => {
                let parameter = self.parameters(Bind::Version).concat();
                format!(" AND {}{column} = {parameter}", dot(of))
            }
            _ => String::new(),
        }
    }

    /// What the event writes, the version by way of `next`.
    pub(super) fn assignments(&mut self, event: &Event, next: impl Fn(&str) -> String) -> String {
        let mut fields = self.parameters(Bind::Fields).into_iter();
        let status = format!("{} = {}", self.status(), self.stored(event.target));
        let sets = event.assignments.iter().map(|set| {
            let value = self.set_value(set).or_else(|| fields.next()).unwrap_or_default();
            format!("{} = {value}", self.column(&unraw(&set.column)))
        });
        let version = self.version().map(|column| format!("{column} = {}", next(&column)));
        [status].into_iter().chain(sets).chain(version).collect::<Vec<_>>().join(", ")
    }

    /// The compare-and-swap by itself.
    pub(super) fn update(&mut self, event: &Event, version: Version, next: impl Fn(&str) -> String) -> String {
        let (table, sets) = (self.table(), self.assignments(event, next));
        let (id, source, at) = (self.id_is(""), self.is_source(event, ""), self.and_version(version, ""));
        format!("UPDATE {table}\n   SET {sets}\n WHERE {id} AND {source}{at}")
    }

    /// The text of the value; none for a field of the event.
    pub(super) fn set_value(&self, set: &Assignment) -> Option<String> {
        Some(match &set.value {
            Value::Now => self.now().to_owned(),
            Value::Null => "NULL".to_owned(),
            Value::Bool(flag) => flag.to_string().to_uppercase(),
            Value::Number(number) => number.clone(),
            Value::Text(text) => literal(text),
            Value::Field(_) => return None,
        })
    }

    /// The time, to the microsecond or as fine as there is, and not that of the transaction's start.
    pub(super) fn now(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => "clock_timestamp()",
            Dialect::MySql => "NOW(6)",
            Dialect::Sqlite => "strftime('%Y-%m-%d %H:%M:%f', 'now')",
        }
    }

    /// Reads status and version of one row.
    pub(super) fn select_row(&mut self, lock: &str) -> String {
        let (status, version) = (renamed(&self.status_text(""), "status"), self.version_as("", "version"));
        let (table, id, lock) = (self.table(), self.id_is(""), clause(lock));
        format!("SELECT {status}, {version}\n  FROM {table}\n WHERE {id}{lock}")
    }

    /// The value that is written for the state.
    pub(super) fn stored(&self, state: StateId) -> String {
        value(&self.model.state(state).stored)
    }

    /// The same as text.
    pub(super) fn stored_text(&self, state: StateId) -> String {
        literal(&self.model.state(state).stored.raw())
    }

    /// The status as text, which is how it is read and kept in the history.
    pub(super) fn status_text(&self, of: &str) -> String {
        self.as_text(format!("{}{}", dot(of), self.status()))
    }

    /// A value of the status column as text.
    pub(super) fn as_text(&self, status: String) -> String {
        match (&self.model.repr, self.dialect) {
            (Repr::Int | Repr::Native(_), Dialect::Postgres) => format!("{status}::text"),
            (Repr::Int, Dialect::MySql) => format!("CAST({status} AS CHAR)"),
            (Repr::Int, Dialect::Sqlite) => format!("CAST({status} AS TEXT)"),
            (Repr::Text, _) | (Repr::Native(_), Dialect::MySql | Dialect::Sqlite) => status,
        }
    }

    pub(super) fn table(&self) -> String {
        self.names().table.clone()
    }

    /// The table's own name, by which a statement that names it with its schema goes on to call it.
    pub(super) fn table_name(&self) -> String {
        self.column(without_schema(&self.model.table))
    }

    pub(super) fn status(&self) -> String {
        self.names().status.clone()
    }

    pub(super) fn version(&self) -> Option<String> {
        self.names().version.clone()
    }

    /// The source's own value for the history, from the status column as text: an alias is the same state.
    pub(super) fn source_text(&self, event: &Event, text: String) -> String {
        Self::stored_of_text(text, &mut event.sources.iter().map(|source| self.model.state(source.state)))
    }

    /// The same for whichever of the states it is.
    pub(super) fn stored_of_text(text: String, states: &mut dyn Iterator<Item = &State>) -> String {
        let aliases: Vec<_> = states
            .flat_map(|state| state.aliases.iter().map(move |alias| (alias.raw(), state.stored.raw())))
            .map(|(alias, stored)| format!("WHEN {} THEN {}", literal(&alias), literal(&stored)))
            .collect();
        if aliases.is_empty() { text } else { format!("CASE {text} {} ELSE {text} END", aliases.join(" ")) }
    }

    /// `seen.version`, or a number that means nothing where there is none.
    pub(super) fn version_value(&self, of: &str) -> String {
        self.version().map_or("0".to_owned(), |version| format!("{}{version}", dot(of)))
    }

    /// The same where there may be no row, so that a missing one has no version either.
    pub(super) fn version_if_any(&self, of: &str) -> String {
        let id = || self.id().first().map(String::as_str).unwrap_or_default();
        self.version().map_or_else(
            || format!("CASE WHEN {}{} IS NOT NULL THEN 0 END", dot(of), id()),
            |version| format!("{}{version}", dot(of)),
        )
    }

    /// The same by the name that the runtime reads.
    pub(super) fn version_as(&self, of: &str, name: &str) -> String {
        match self.version() {
            Some(version) if version == name => self.version_value(of),
            _ => format!("{} AS {name}", self.version_value(of)),
        }
    }

    pub(super) fn quoted_path(&self, path: &str) -> String {
        quoted_path(self.dialect, path)
    }

    pub(super) fn column(&self, name: &str) -> String {
        quoted(self.dialect, name)
    }
}

fn quoted_path(dialect: Dialect, path: &str) -> String {
    path.split('.').map(|part| quoted(dialect, part)).collect::<Vec<_>>().join(".")
}

/// A name as it is when every dialect takes it for a plain one, otherwise in this dialect's quotes.
fn quoted(dialect: Dialect, name: &str) -> String {
    let quote = if dialect == Dialect::MySql { '`' } else { '"' };
    if is_plain(name) {
        return name.to_owned();
    }
    format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
}

fn is_plain(name: &str) -> bool {
    let letters = |it: char| it.is_ascii_lowercase() || it == '_';
    name.starts_with(letters) && name.chars().all(|it| letters(it) || it.is_ascii_digit()) && !is_keyword(name)
}

/// As much of the name as `bytes` hold.
pub(super) fn cut(mut name: String, bytes: usize) -> String {
    while name.len() > bytes {
        name.pop();
    }
    name
}

/// `status = 'paid'` or `status IN ('paid', 'shipped')`.
pub(super) fn is_one_of(column: &str, values: &[String]) -> String {
    match values {
        [value] => format!("{column} = {value}"),
        values => format!("{column} IN ({})", values.join(", ")),
    }
}

/// A value of the status column as a literal.
pub(super) fn value(stored: &Stored) -> String {
    match stored {
        Stored::Text(text) => literal(text),
        Stored::Int(number) => number.to_string(),
    }
}

/// A text literal. The rules of the machine keep backslashes and control characters out of it.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `state AS status`, or plain `status`.
pub(super) fn renamed(column: &str, name: &str) -> String {
    if column == name { name.to_owned() } else { format!("{column} AS {name}") }
}

/// A clause on a line of its own, when there is one.
pub(super) fn clause(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\n   {text}") }
}

fn dot(of: &str) -> String {
    if of.is_empty() { String::new() } else { format!("{of}.") }
}
