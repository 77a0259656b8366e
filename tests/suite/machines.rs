//! Machines that have what the shop's order has not.

use idem_runtime::prelude::*;
use idem_runtime::schema;
use serde::Serialize;
use uuid::Uuid;

use crate::shop::text_type;
use crate::support::{Engine, TestDb, TestResult};

/// A coupon: two columns name it, and one cause redeems one coupon only.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "coupons", id(tenant_id: i64, code: String), history(cause = once), rename_all = "snake_case")]
#[transition(redeem: Issued | Reserved => Redeemed, set(order_id: i64))]
#[transition(reserve: Issued => Reserved)]
#[transition(expire: Issued => Expired)]
pub(crate) enum Coupon {
    #[state(initial)]
    Issued,
    Reserved,
    #[state(terminal)]
    Redeemed,
    #[state(terminal)]
    Expired,
}

/// A review: it can come back to where it was.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "reviews", id(review_id: i64), history, rename_all = "snake_case")]
#[transition(touch:   Draft            => Draft)]
#[transition(submit:  Draft            => Submitted)]
#[transition(reject:  Submitted        => Draft)]
#[transition(recall:  Submitted | Held => Draft)]
#[transition(hold:    Submitted        => Held)]
#[transition(approve: Submitted        => Approved)]
pub(crate) enum Review {
    #[state(initial)]
    Draft,
    Submitted,
    Held,
    #[state(terminal)]
    Approved,
}

/// A lamp: no history, and it goes round.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "lamps", id(lamp_id: i64), rename_all = "snake_case")]
#[transition(light:  Dark       => Lit)]
#[transition(quench: Lit | Dim  => Dark)]
#[transition(lower:  Lit        => Dim)]
#[transition(retire: Dark | Dim => Retired)]
pub(crate) enum Lamp {
    #[state(initial)]
    Dark,
    Lit,
    Dim,
    #[state(terminal)]
    Retired,
}

/// Words that Rust or SQL keep for themselves, as table, columns, events and states.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(
    table = "order",
    id(group: i64, r#where: String),
    status = "select",
    version = "from",
    history = "table",
    rename_all = "snake_case"
)]
#[transition(r#move: r#type             => r#match,  set(by = now, r#in: String, to = "it's"))]
#[transition(r#use:  r#type | r#match   => r#final,  set(key: i64))]
#[expect(non_camel_case_types, reason = "a keyword is what these are about")]
pub(crate) enum Word {
    #[state(initial)]
    r#type,
    r#match,
    #[state(terminal)]
    r#final,
}

/// What is written on a parcel.
#[derive(sqlx::Type, Serialize, Debug, Clone, PartialEq, Eq)]
#[sqlx(transparent)]
pub(crate) struct Label(pub(crate) String);

/// A parcel: its events carry types of the user and of other crates, and a [`Uuid`] names it.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "parcels", id(parcel_id: Uuid), history, rename_all = "snake_case")]
#[transition(mark: Packed => Labelled, set(label: Label, grams: Option<i64>, batch: Uuid, seal: Option<Label>))]
pub(crate) enum Parcel {
    #[state(initial)]
    Packed,
    #[state(terminal)]
    Labelled,
}

/// Makes the tables of all these machines.
pub(crate) async fn create_tables<DB: Engine>(db: &TestDb<DB>) -> TestResult {
    let text = text_type(DB::DIALECT);
    let status = |initial| format!("status {text} NOT NULL DEFAULT '{initial}', version BIGINT NOT NULL DEFAULT 0");
    let (issued, draft, dark, packed) = (status("issued"), status("draft"), status("dark"), status("packed"));
    for table in [
        format!(
            "coupons (tenant_id BIGINT NOT NULL, code {text} NOT NULL, {issued}, order_id BIGINT, \
             PRIMARY KEY (tenant_id, code))"
        ),
        format!("reviews (review_id BIGINT NOT NULL PRIMARY KEY, {draft})"),
        format!("lamps (lamp_id BIGINT NOT NULL PRIMARY KEY, {dark})"),
        format!(
            "parcels (parcel_id {} NOT NULL PRIMARY KEY, {packed}, label {text}, grams BIGINT, batch {0}, seal {text})",
            uuid_type(DB::DIALECT)
        ),
        words_table(DB::DIALECT),
    ] {
        db.execute(format!("CREATE TABLE {table}")).await?;
    }
    for history in [
        schema::history::<Coupon>(DB::DIALECT),
        schema::history::<Review>(DB::DIALECT),
        schema::history::<Word>(DB::DIALECT),
        schema::history::<Parcel>(DB::DIALECT),
    ] {
        db.execute(history.ok_or("the machine keeps a history")?).await?;
    }
    Ok(())
}

/// The table of [`Word`], every name of it quoted.
fn words_table(dialect: Dialect) -> String {
    let time = if dialect == Dialect::MySql { "DATETIME(6)" } else { "TEXT" };
    let time = if dialect == Dialect::Postgres { "TIMESTAMPTZ" } else { time };
    let text = text_type(dialect);
    let sql = format!(
        "'order' ('group' BIGINT NOT NULL, 'where' {text} NOT NULL, 'select' {text} NOT NULL, 'from' BIGINT NOT NULL, \
         'by' {time}, 'in' {text}, 'to' {text}, 'key' BIGINT, PRIMARY KEY ('group', 'where'))"
    );
    quoted(dialect, &sql)
}

/// The statement with the dialect's quotes in place of apostrophes.
pub(crate) fn quoted(dialect: Dialect, sql: &str) -> String {
    sql.replace('\'', if dialect == Dialect::MySql { "`" } else { "\"" })
}

fn uuid_type(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "UUID",
        Dialect::MySql => "BINARY(16)",
        Dialect::Sqlite => "BLOB",
    }
}
