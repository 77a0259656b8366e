//! What the status and version columns hold, and what is read back.

use std::str::FromStr as _;

use idem_runtime::machine::{Repr, UnknownState};
use idem_runtime::prelude::*;
use idem_runtime::schema;
use sqlx::{MySql, Postgres};

use crate::answers::answer;
use crate::shop;
use crate::support::{Engine, Suite, TestDb, TestResult, ensure, on_engines, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [
            s46_each_type_of_status_column,
            s47_native_enum_in_every_statement,
            s49_value_of_a_newer_release,
            s51_awkward_values,
            s52_case_makes_another_value,
            s56_versions_of_each_size,
            s57_values_that_no_state_describes,
            integers_in_the_status_column,
            aliases_stand_for_their_state,
            rows_without_a_version,
            one_match_for_every_state,
        ]
    );
    on_engines!(suite, [MySql], "only there a bad value of an enum is stored", [s54_empty_value_of_an_enum]);
    on_engines!(suite, [Postgres, MySql], "only there a constraint names the values", [s79_widen_then_deploy]);
}

/// A lift: numbers, one of them from an older release.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(
    table = "lifts",
    id(lift_id: i64),
    status = "floor",
    history,
    repr = int,
    rename_all = "kebab-case",
    sqlx,
    display
)]
#[transition(rise:  Ground | Cellar => TopFloor)]
#[transition(sink:  TopFloor        => Ground)]
#[transition(dig:   Ground          => Cellar)]
#[transition(close: Ground          => Closed)]
pub(crate) enum Lift {
    #[state(initial, value = 0)]
    Ground,
    #[state(value = -1)]
    Cellar,
    #[state(value = 40_000, alias = 13, alias = 14)]
    TopFloor,
    #[state(terminal, value = 99)]
    Closed,
}

/// An invoice: an enum type on PostgreSQL, an `ENUM` on MySQL.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(
    table = "invoices",
    id(invoice_id: i64),
    history,
    repr = native("invoice_state"),
    rename_all = "snake_case",
    sqlx,
    display
)]
#[transition(send:   Draft                     => Sent)]
#[transition(settle: Sent | Reminded           => Settled)]
#[transition(remind: Sent | Reminded           => Reminded)]
#[transition(drop:   Draft | Sent | Reminded   => Dropped)]
pub(crate) enum Invoice {
    #[state(initial, alias = "sketch")]
    Draft,
    Sent,
    Reminded,
    #[state(terminal)]
    Settled,
    #[state(terminal, rename = "作废")]
    Dropped,
}

/// A sign: values that are hard to write.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "signs", id(sign_id: i64), history, length = 40, sqlx, display)]
#[transition(next: Blank | Open | Quoted | Spaced | Underscored | CamelCase | Emoji => Open, set(note: String))]
#[transition(quote: Open => Quoted)]
#[transition(space: Open => Spaced)]
#[transition(score: Open => Underscored)]
#[transition(camel: Open => CamelCase)]
#[transition(smile: Open => Emoji)]
#[transition(last: Open | Emoji => Gone)]
pub(crate) enum Sign {
    #[state(initial, rename = "")]
    Blank,
    #[state(rename = "打开")]
    Open,
    #[state(rename = "it's \"quoted\" `twice`; -- ?")]
    Quoted,
    #[state(rename = "0 x")]
    Spaced,
    #[state(rename = "a_b")]
    Underscored,
    #[state(rename = "aB")]
    CamelCase,
    #[state(rename = "🙂 %_ $1 :a {}")]
    Emoji,
    #[state(terminal, alias = "hors d'œuvre")]
    Gone,
}

/// A seal: nothing counts its changes.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "seals", id(seal_id: i64), version = none, rename_all = "snake_case")]
#[transition(press:  Soft             => Hard, set(pressed_by: String))]
#[transition(shatter: Soft | Hard     => Broken)]
pub(crate) enum Seal {
    #[state(initial)]
    Soft,
    Hard,
    #[state(terminal)]
    Broken,
}

/// Makes the table of a machine from the text that idem gives for it.
async fn create_table<M: StateMachine, DB: Engine>(db: &TestDb<DB>, others: &str) -> TestResult {
    if let Some(status_type) = schema::status_type::<M>(DB::DIALECT) {
        db.execute(status_type).await?;
    }
    let id = M::TABLE.trim_end_matches('s');
    let columns = schema::columns::<M>(DB::DIALECT);
    // The text of the columns says what it needs, whatever the table's default is. (In a constraint MariaDB refuses what
    // that default cannot write, which is an error and no loss.)
    let native = DB::DIALECT == Dialect::MySql && matches!(M::REPR, Repr::Native(_));
    let default = if native { " CHARACTER SET latin1" } else { "" };
    let table = format!("{} ({id}_id BIGINT NOT NULL PRIMARY KEY{others}, {columns}){default}", M::TABLE);
    db.execute(format!("CREATE TABLE {table}")).await?;
    if let Some(history) = schema::history::<M>(DB::DIALECT) {
        db.execute(history).await?;
    }
    Ok(())
}

/// Makes the tables of all machines of this file.
pub(crate) async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    create_table::<Lift, DB>(db, "").await?;
    create_table::<Invoice, DB>(db, "").await?;
    create_table::<Sign, DB>(db, &format!(", note {}", shop::text_type(DB::DIALECT))).await?;
    create_table::<Seal, DB>(db, &format!(", pressed_by {}", shop::text_type(DB::DIALECT))).await
}

/// The status of a row as a literal of the statement that stores it.
fn literal(state: &impl StateMachine) -> String {
    format!("'{}'", state.stored().replace('\'', "''"))
}

/// The statement with the dialect's only parameter in place of the question mark.
fn numbered(dialect: Dialect, sql: &str) -> String {
    if dialect == Dialect::Postgres { sql.replace('?', "$1") } else { sql.to_owned() }
}

/// Stores each state, reads it as a row and as a value of sqlx, and finds it by a bound value.
macro_rules! round_trip {
    ($Machine:ty, $db:expr, $idem:expr, $insert:expr, $status:expr) => {
        for (id, state) in (100..).zip(<$Machine>::STATES.iter().copied()) {
            let (db, table): (&TestDb<DB>, _) = (&$db, <$Machine>::TABLE);
            db.execute(format!($insert, id = id, status = literal(&state))).await?;
            let loaded = <$Machine>::row(id).load($idem).await?;
            ensure!(loaded.state() == state && loaded.version() == 0, "{state:?}: {loaded:?}");
            let status = $status;
            let find = numbered(DB::DIALECT, &format!("SELECT {status} FROM {table} WHERE {status} = ?"));
            let found = DB::read_back(db.own(), find, state).await?;
            ensure!(found == [state], "{state:?}: {found:?}");
            let update = format!("UPDATE {table} SET {status} = ? WHERE {}_id = {id}", table.trim_end_matches('s'));
            DB::read_back(db.own(), numbered(DB::DIALECT, &update), state).await?;
            ensure!(<$Machine>::from_str(&state.to_string()) == Ok(state), "{state} is read back");
            db.execute(format!("DELETE FROM {table}")).await?;
        }
    };
}

async fn s46_each_type_of_status_column<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let types: &[&str] = match DB::DIALECT {
        Dialect::Postgres => &["TEXT", "VARCHAR(20)", "CHAR(20)", "invoice_state"],
        Dialect::MySql => &[
            "VARCHAR(20)",
            "TEXT",
            "CHAR(20) CHARACTER SET latin1",
            "VARBINARY(20)",
            "ENUM ('draft', 'sketch', 'sent', 'reminded', 'settled')",
            "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        ],
        Dialect::Sqlite => &["TEXT", "VARCHAR(20)", "BLOB", ""],
    };
    if DB::DIALECT == Dialect::Postgres {
        db.execute(schema::status_type::<Invoice>(DB::DIALECT).ok_or("an enum type")?).await?;
    }
    db.execute(schema::history::<Invoice>(DB::DIALECT).ok_or("a history")?).await?;
    for default in ["NOT NULL DEFAULT 'draft'", "NOT NULL", "NULL"] {
        for ty in types {
            let idem = db.idem(2).await?;
            db.execute(format!(
                "CREATE TABLE invoices (invoice_id BIGINT PRIMARY KEY, status {ty} {default}, version INTEGER NOT NULL)"
            ))
            .await?;
            each_invoice(&db, &idem).await.map_err(|error| format!("{ty} {default}: {error}"))?;
            db.execute("DROP TABLE invoices").await?;
            db.execute("DELETE FROM invoices_history").await?;
        }
    }
    Ok(())
}

/// A row from the first state to the last.
async fn each_invoice<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>) -> TestResult {
    db.execute("INSERT INTO invoices (invoice_id, status, version) VALUES (1, 'draft', 0)").await?;
    let invoice = || Invoice::row(1);
    answer!(invoice().load(idem).await, Ok(row) if row.state() == Invoice::Draft);
    answer!(invoice().fire(invoice::Send).run(idem).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(invoice().fire(invoice::Send).run(idem).await, Ok(Outcome::Already(_)));
    answer!(invoice().fire(invoice::Remind).cause("R1").run(idem).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    answer!(invoice().fire(invoice::Remind).cause("R1").run(idem).await, Ok(Outcome::Replayed(_)));
    let sent = invoice().load(idem).await?.in_state::<invoice::Reminded>()?;
    answer!(sent.fire(invoice::Settle).cause("S1").run(idem).await, Ok(Outcome::Applied(row)) if row.version() == 3);
    answer!(
        invoice().fire(invoice::Drop).run(idem).await,
        Err(TransitionError::Illegal { current: "Settled", event: "drop", .. })
    );
    let found = db.rows("SELECT source, target FROM invoices_history ORDER BY version").await?;
    ensure!(found == [["draft", "sent"], ["sent", "reminded"], ["reminded", "settled"]], "{found:?}");
    Ok(())
}

async fn s47_native_enum_in_every_statement<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_table::<Invoice, DB>(&db, "").await?;
    let idem = db.idem(2).await?;
    round_trip!(Invoice, db, &idem, "INSERT INTO invoices (invoice_id, status) VALUES ({id}, {status})", "status");
    each_invoice(&db, &idem).await
}

async fn s49_value_of_a_newer_release<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_table::<Seal, DB>(&db, ", pressed_by VARCHAR(20)").await?;
    create_table::<Lift, DB>(&db, "").await?;
    create_table::<Sign, DB>(&db, ", note VARCHAR(20)").await?;
    let idem = db.idem(2).await?;
    if DB::DIALECT != Dialect::Sqlite {
        for table in ["seals", "lifts", "signs"] {
            let column = if table == "lifts" { "floor" } else { "status" };
            db.execute(format!("ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_check")).await?;
        }
    }
    db.execute("INSERT INTO seals (seal_id, status) VALUES (1, 'molten')").await?;
    db.execute("INSERT INTO lifts (lift_id, floor) VALUES (1, 7)").await?;
    db.execute("INSERT INTO signs (sign_id, status) VALUES (1, 'new')").await?;

    answer!(Seal::row(1).load(&idem).await, Err(TransitionError::UnknownState { machine: "Seal", raw }) if raw == "molten");
    answer!(Seal::row(1).fire(seal::Shatter).run(&idem).await, Err(TransitionError::UnknownState { .. }));
    answer!(Lift::row(1).load(&idem).await, Err(TransitionError::UnknownState { machine: "Lift", raw }) if raw == "7");
    answer!(
        Lift::row(1).fire(lift::Rise).any_version().run(&idem).await,
        Err(TransitionError::UnknownState { raw, .. }) if raw == "7"
    );
    let read = DB::read_back(db.own(), numbered(DB::DIALECT, "SELECT floor FROM lifts WHERE floor <> ?"), Lift::Ground);
    unknown(&read.await.expect_err("7 is no state"), "Lift", "7")?;
    let read = DB::read_back(db.own(), numbered(DB::DIALECT, "SELECT status FROM signs WHERE status <> ?"), Sign::Open);
    unknown(&read.await.expect_err("new is no state"), "Sign", "new")?;
    let found = [db.text("SELECT floor FROM lifts").await?, db.text("SELECT status FROM signs").await?];
    ensure!(found == ["7", "new"], "{found:?}");
    Ok(())
}

/// An error of sqlx that carries the value which is no state.
fn unknown(error: &sqlx::Error, machine: &str, raw: &str) -> TestResult {
    let sqlx::Error::ColumnDecode { source, .. } = error else { return Err(format!("{error:?}").into()) };
    let unknown = source.downcast_ref::<UnknownState>().ok_or_else(|| format!("{source:?}"))?;
    ensure!(unknown.machine == machine && unknown.raw == raw, "{unknown:?}");
    Ok(())
}

async fn s51_awkward_values<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_table::<Sign, DB>(&db, ", note VARCHAR(20)").await?;
    let idem = db.idem(2).await?;
    round_trip!(Sign, db, &idem, "INSERT INTO signs (sign_id, status) VALUES ({id}, {status})", "status");
    db.execute("INSERT INTO signs (sign_id) VALUES (1)").await?;
    let sign = || Sign::row(1);
    let next = || sign().fire(sign::Next { note: "it's".to_owned() }).any_version();
    answer!(next().run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(sign().fire(sign::Quote).any_version().run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(next().run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(sign().fire(sign::Smile).any_version().run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(sign().fire(sign::Last).run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 5);
    let found = db.rows("SELECT source, target FROM signs_history ORDER BY version").await?;
    let (open, quoted, emoji) = (Sign::Open.stored(), Sign::Quoted.stored(), Sign::Emoji.stored());
    ensure!(found == [["", open], [open, quoted], [quoted, open], [open, emoji], [emoji, "Gone"]], "{found:?}");
    Ok(())
}

/// The columns that idem describes compare as bytes, and a constraint refuses what is no state.
async fn s52_case_makes_another_value<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_table::<Seal, DB>(&db, ", pressed_by VARCHAR(20)").await?;
    let idem = db.idem(2).await?;
    for (id, raw) in [(1, "SOFT"), (2, "soft "), (3, "ſoft")] {
        let insert = format!("INSERT INTO seals (seal_id, status) VALUES ({id}, '{raw}')");
        // On MySQL a text column is blank padded even where it compares as bytes: what it takes for `soft` reads so.
        let refused = DB::DIALECT != Dialect::Sqlite && !(DB::DIALECT == Dialect::MySql && raw == "soft ");
        ensure!(db.execute(insert).await.is_err() == refused, "{raw:?}");
        if !refused {
            answer!(Seal::row(id).load(&idem).await, Err(TransitionError::UnknownState { raw: found, .. }) if found == raw);
        }
    }
    Ok(())
}

async fn s54_empty_value_of_an_enum<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_table::<Invoice, DB>(&db, "").await?;
    let idem = db.idem(2).await?;
    db.execute("SET SESSION sql_mode = ''").await?;
    db.execute("INSERT INTO invoices (invoice_id, status) VALUES (1, 'no such state')").await?;
    ensure!(db.text("SELECT status FROM invoices").await?.is_empty(), "the bad value is stored as an empty one");
    answer!(Invoice::row(1).load(&idem).await, Err(TransitionError::UnknownState { raw, .. }) if raw.is_empty());
    answer!(Invoice::row(1).fire(invoice::Send).run(&idem).await, Err(TransitionError::UnknownState { .. }));
    let read = DB::read_back(db.own(), "SELECT status FROM invoices WHERE status <> ?".to_owned(), Invoice::Sent);
    unknown(&read.await.expect_err("an empty text is no state"), "Invoice", "")
}

async fn s56_versions_of_each_size<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let types: &[(&str, &str)] = match DB::DIALECT {
        Dialect::Postgres => &[("SMALLINT", "32767"), ("INTEGER", "2147483647"), ("BIGINT", "9223372036854775807")],
        Dialect::MySql => &[
            ("SMALLINT", "32767"),
            ("INT", "2147483647"),
            ("INT UNSIGNED", "4294967295"),
            ("BIGINT", "9223372036854775807"),
            ("BIGINT UNSIGNED", "9223372036854775807"),
            ("BIGINT UNSIGNED", "18446744073709551615"),
        ],
        Dialect::Sqlite => &[("INTEGER", "9223372036854775807"), ("BIGINT", "9223372036854775807")],
    };
    db.execute(schema::history::<shop::OrderStatus>(DB::DIALECT).ok_or("orders keep a history")?).await?;
    for (ty, most) in types {
        let idem = db.idem(2).await?;
        db.execute(format!(
            "CREATE TABLE orders (order_id BIGINT PRIMARY KEY, status VARCHAR(20) NOT NULL, version {ty} NOT NULL)"
        ))
        .await?;
        versions_up_to(&db, &idem, most).await.map_err(|error| format!("{ty} {most}: {error}"))?;
        db.execute("DROP TABLE orders").await?;
        db.execute("DELETE FROM orders_history").await?;
    }
    Ok(())
}

/// The last version that the column holds is reached, and there is none behind it.
async fn versions_up_to<DB: Engine>(db: &TestDb<DB>, idem: &Idem<DB>, most: &str) -> TestResult {
    use crate::shop::OrderStatus;
    use crate::shop::order_status::{Cancel, Refund};
    let before = most.parse::<u64>()? - 1;
    db.execute(format!("INSERT INTO orders VALUES (1, 'pending', {before}), (2, 'paid', {most})")).await?;
    match i64::try_from(before + 1) {
        Ok(last) => {
            answer!(OrderStatus::row(1).fire(Cancel).run(idem).await, Ok(Outcome::Applied(row)) if row.version() == last);
            answer!(OrderStatus::row(1).load(idem).await, Ok(row) if row.version() == last);
        }
        // No i64 holds it, so that nobody could be told.
        Err(_) => answer!(OrderStatus::row(1).load(idem).await, Err(TransitionError::Database(_))),
    }
    for cause in ["R1", "R2"] {
        answer!(OrderStatus::row(2).fire(Refund).cause(cause).run(idem).await, Err(TransitionError::Database(_)));
    }
    let found = db.text("SELECT status FROM orders WHERE order_id = 2").await?;
    ensure!(found == "paid", "{found}");
    ensure!(db.integer("SELECT COUNT(*) FROM orders_history WHERE order_id = 2").await? == 0, "nothing happened");
    Ok(())
}

async fn s57_values_that_no_state_describes<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let text = "status VARCHAR(20), version INTEGER NOT NULL DEFAULT 0";
    db.execute(format!("CREATE TABLE signs (sign_id BIGINT PRIMARY KEY, {text})")).await?;
    db.execute("CREATE TABLE lifts (lift_id BIGINT PRIMARY KEY, floor INTEGER, version INTEGER NOT NULL DEFAULT 0)")
        .await?;
    let none = db.rows(schema::unknown_values::<Sign>(DB::DIALECT)).await?;
    ensure!(none.is_empty(), "{none:?}");
    db.execute(
        "INSERT INTO signs (sign_id, status) VALUES (1, 'GONE'), (2, 'gone'), (3, 'gone'), (4, NULL), (5, 'Gone')",
    )
    .await?;
    db.execute("INSERT INTO lifts (lift_id, floor) VALUES (1, 0), (2, 13), (3, 12), (4, 40000), (5, 12)").await?;
    let mut found = db.rows(schema::unknown_values::<Sign>(DB::DIALECT)).await?;
    found.sort();
    ensure!(found == [["GONE", "1"], ["NULL", "1"], ["gone", "2"]], "{found:?}");
    let found = db.rows(schema::unknown_values::<Lift>(DB::DIALECT)).await?;
    ensure!(found == [["12", "2"]], "{found:?}");
    Ok(())
}

async fn integers_in_the_status_column<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_table::<Lift, DB>(&db, "").await?;
    let idem = db.idem(2).await?;
    round_trip!(Lift, db, &idem, "INSERT INTO lifts (lift_id, floor) VALUES ({id}, {status})", "floor");
    ensure!(Lift::TopFloor.to_string() == "top-floor" && Lift::TopFloor.stored() == "40000", "{}", Lift::TopFloor);
    let unknown = Lift::from_str("40000").expect_err("a number is no name");
    ensure!(unknown.to_string() == "\"40000\" is not a state of `Lift`", "{unknown}");
    let columns = schema::columns::<Lift>(DB::DIALECT);
    ensure!(columns.starts_with("floor INTEGER NOT NULL DEFAULT 0"), "{columns}");

    db.execute("INSERT INTO lifts (lift_id, floor) VALUES (1, -1)").await?;
    let lift = || Lift::row(1);
    answer!(lift().fire(lift::Rise).cause("up").run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 1);
    answer!(lift().fire(lift::Rise).cause("up").run(&idem).await, Ok(Outcome::Replayed(_)));
    let mut tx = idem.begin().await?;
    answer!(lift().fire(lift::Sink).cause("down").run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    tx.commit().await?;
    answer!(lift().fire(lift::Close).run(&idem).await, Ok(Outcome::Applied(row)) if row.version() == 3);
    answer!(
        lift().fire(lift::Rise).cause("again").run(&idem).await,
        Err(TransitionError::Illegal { current: "Closed", passed: Some(passed), .. }) if passed.version == 1
    );
    ensure!(db.text("SELECT floor FROM lifts WHERE lift_id = 1").await? == "99", "the number is stored");
    let found = db.rows("SELECT source, target FROM lifts_floor_history ORDER BY version").await?;
    ensure!(found == [["-1", "40000"], ["40000", "0"], ["0", "99"]], "{found:?}");
    Ok(())
}

async fn aliases_stand_for_their_state<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_table::<Lift, DB>(&db, "").await?;
    create_table::<Invoice, DB>(&db, "").await?;
    create_table::<Sign, DB>(&db, ", note VARCHAR(20)").await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO lifts (lift_id, floor) VALUES (1, 13), (2, 14)").await?;
    db.execute("INSERT INTO invoices (invoice_id, status) VALUES (1, 'sketch'), (2, 'sketch')").await?;
    db.execute("INSERT INTO signs (sign_id, status) VALUES (1, 'hors d''œuvre')").await?;

    // Read, and already there.
    answer!(Lift::row(1).load(&idem).await, Ok(row) if row.state() == Lift::TopFloor);
    answer!(Lift::row(2).fire(lift::Rise).any_version().run(&idem).await, Ok(Outcome::Already(row)) if row.version() == 0);
    answer!(Sign::row(1).fire(sign::Last).run(&idem).await, Ok(Outcome::Already(row)) if row.state() == Sign::Gone);
    ensure!(Sign::from_str("hors d'œuvre") == Ok(Sign::Gone), "an alias is a name where values are names");
    let find = numbered(DB::DIALECT, "SELECT floor FROM lifts WHERE floor <> ?");
    let found = DB::read_back(db.own(), find, Lift::TopFloor).await?;
    ensure!(found == [Lift::TopFloor; 2], "{found:?}");

    // A source, by value and by type; what is written is the new value.
    answer!(Lift::row(1).fire(lift::Sink).cause("c").run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(Invoice::row(1).fire(invoice::Send).run(&idem).await, Ok(Outcome::Applied(_)));
    let draft = Invoice::row(2).load(&idem).await?.in_state::<invoice::Draft>()?;
    answer!(draft.fire(invoice::Drop).cause("d").run(&idem).await, Ok(Outcome::Applied(_)));
    let found = db.rows("SELECT status FROM invoices ORDER BY invoice_id").await?;
    ensure!(found == [["sent"], ["作废"]], "{found:?}");

    // The history names the state by the value that is written now.
    let found = db.rows("SELECT source, target FROM invoices_history ORDER BY invoice_id").await?;
    ensure!(found == [["draft", "sent"], ["draft", "作废"]], "{found:?}");
    let found = db.rows("SELECT source, target FROM lifts_floor_history").await?;
    ensure!(found == [["40000", "0"]], "{found:?}");

    // An entry of the history that an older release wrote.
    db.execute("UPDATE lifts_floor_history SET target = '13', version = 100 WHERE lift_id = 1").await?;
    db.execute("UPDATE lifts SET floor = 99 WHERE lift_id = 1").await?;
    answer!(
        Lift::row(1).fire(lift::Rise).cause("late").run(&idem).await,
        Err(TransitionError::Illegal { current: "Closed", passed: Some(passed), .. }) if passed.version == 100
    );
    Ok(())
}

async fn rows_without_a_version<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_table::<Seal, DB>(&db, ", pressed_by VARCHAR(20)").await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO seals (seal_id) VALUES (1), (2), (3)").await?;
    let press = || seal::Press { pressed_by: "me".to_owned() };
    answer!(Seal::row(1).fire(press()).run(&idem).await, Ok(Outcome::Applied(row)) if row.state() == Seal::Hard);
    answer!(Seal::row(1).fire(press()).run(&idem).await, Ok(Outcome::Already(_)));
    answer!(Seal::row(1).fire(seal::Shatter).run(idem.pool()).await, Ok(Outcome::Applied(_)));
    answer!(Seal::row(1).fire(press()).run(&idem).await, Err(TransitionError::Illegal { current: "Broken", .. }));
    answer!(Seal::row(9).fire(press()).run(&idem).await, Err(TransitionError::NotFound { .. }));

    let mut tx = idem.begin().await?;
    let soft = Seal::row(2).load(&mut *tx).await?.in_state::<seal::Soft>()?;
    let hard = soft.fire(press()).run(&mut *tx).await?.expect_applied()?;
    answer!(hard.fire(seal::Shatter).run(&mut *tx).await, Ok(Outcome::Applied(row)) if row.state() == Seal::Broken);
    tx.commit().await?;
    let found = db.rows("SELECT status, pressed_by FROM seals ORDER BY seal_id").await?;
    ensure!(found == [["broken", "me"], ["broken", "me"], ["soft", "NULL"]], "{found:?}");

    let all = crate::support::release_together(|_| {
        let idem = idem.clone();
        async move { Seal::row(3).fire(seal::Press { pressed_by: "all".to_owned() }).run(&idem).await }
    });
    let mut applied = 0;
    for answer in all.await? {
        applied += usize::from(answer?.is_applied());
    }
    ensure!(applied == 1, "{applied} tasks moved the row");
    Ok(())
}

async fn one_match_for_every_state<DB: Engine>(db: TestDb<DB>) -> TestResult {
    use invoice::ByState;
    create_table::<Invoice, DB>(&db, "").await?;
    let idem = db.idem(2).await?;
    for (id, state) in (1..).zip(Invoice::STATES.iter().copied()) {
        db.execute(format!("INSERT INTO invoices (invoice_id, status) VALUES ({id}, {})", literal(&state))).await?;
        let read = match Invoice::row(id).load(&idem).await?.by_state() {
            ByState::Draft(row) => row.fire(invoice::Send).run(&idem).await?.into_row(),
            ByState::Sent(row) => row.fire(invoice::Settle).run(&idem).await?.into_row(),
            ByState::Reminded(row) => row.fire(invoice::Drop).run(&idem).await?.into_row(),
            ByState::Settled(row) => row.any_state(),
            ByState::Dropped(row) => row.any_state(),
        };
        let expected = match state {
            Invoice::Draft => Invoice::Sent,
            Invoice::Sent | Invoice::Settled => Invoice::Settled,
            Invoice::Reminded | Invoice::Dropped => Invoice::Dropped,
        };
        ensure!(read.state() == expected, "{state:?}: {read:?}");
    }
    Ok(())
}

/// A release that adds a state meets the constraint of the one before, unless it is widened first; the old release goes
/// on meanwhile.
async fn s79_widen_then_deploy<DB: Engine>(db: TestDb<DB>) -> TestResult {
    create_table::<old::Parcel, DB>(&db, "").await?;
    let idem = db.idem(2).await?;
    db.execute("INSERT INTO parcels (parcel_id) VALUES (1), (2), (3)").await?;
    let early = new::Parcel::row(1).fire(new::parcel::Lose).run(&idem).await;
    answer!(early, Err(TransitionError::Database(_)));
    db.execute(schema::widen::<new::Parcel>(DB::DIALECT).ok_or("the constraint can be changed")?).await?;
    answer!(new::Parcel::row(1).fire(new::parcel::Lose).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(old::Parcel::row(2).fire(old::parcel::Deliver).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(old::Parcel::row(1).load(&idem).await, Err(TransitionError::UnknownState { raw, .. }) if raw == "lost");

    // Narrowed again, it holds what it held before; a row that is elsewhere stops that.
    let narrow = schema::widen::<old::Parcel>(DB::DIALECT).ok_or("the constraint can be changed")?;
    ensure!(db.execute(narrow).await.is_err(), "a row is lost");
    db.execute("UPDATE parcels SET status = 'sent' WHERE status = 'lost'").await?;
    db.execute(narrow).await?;
    answer!(new::Parcel::row(3).fire(new::parcel::Lose).run(&idem).await, Err(TransitionError::Database(_)));
    Ok(())
}

/// A parcel as the old release knows it.
mod old {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "parcels", id(parcel_id: i64), rename_all = "snake_case")]
    #[transition(deliver: Sent => Delivered)]
    pub(super) enum Parcel {
        #[state(initial)]
        Sent,
        #[state(terminal)]
        Delivered,
    }
}

/// A parcel as the new release knows it.
mod new {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "parcels", id(parcel_id: i64), rename_all = "snake_case")]
    #[transition(deliver: Sent => Delivered)]
    #[transition(lose: Sent => Lost)]
    pub(super) enum Parcel {
        #[state(initial)]
        Sent,
        #[state(terminal)]
        Delivered,
        #[state(terminal)]
        Lost,
    }
}
