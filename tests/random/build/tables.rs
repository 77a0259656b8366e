//! The table of a machine, as its user would make it on each engine.

use crate::generate::{Column, Machine};

/// Where the status and version columns come, which the machine itself defines.
const OWN: &str = "{columns}";

/// `CREATE TABLE` for PostgreSQL, MySQL and SQLite.
pub(crate) fn create(machine: &Machine) -> [String; 3] {
    [0, 1, 2].map(|engine| format!("CREATE TABLE {} ({})", table(engine, machine), columns(engine, machine).join(", ")))
}

/// Makes a row in the initial state, named by the default of each type.
pub(crate) fn insert_on_sqlite(machine: &Machine) -> String {
    let value = |column: &Column| match types(column.ty)[2] {
        "INTEGER" => "0",
        "BLOB" => "zeroblob(16)",
        _ => "''",
    };
    let names: Vec<_> = machine.id.iter().map(|column| quoted(2, column.name.trim_start_matches("r#"))).collect();
    let values: Vec<_> = machine.id.iter().map(value).collect();
    format!("INSERT INTO {} ({}) VALUES ({})", table(2, machine), names.join(", "), values.join(", "))
}

fn table(engine: usize, machine: &Machine) -> String {
    machine.table.split('.').map(|part| quoted(engine, part)).collect::<Vec<_>>().join(".")
}

fn columns(engine: usize, machine: &Machine) -> Vec<String> {
    let name = |column: &Column| quoted(engine, column.name.trim_start_matches("r#"));
    let id: Vec<_> = machine.id.iter().map(name).collect();
    let ids = machine.id.iter().map(|column| format!("{} {} NOT NULL", name(column), types(column.ty)[engine]));
    let sets = machine.columns.iter().map(|column| format!("{} {}", name(column), types(column.ty)[engine]));
    let key = format!("PRIMARY KEY ({})", id.join(", "));
    ids.chain([OWN.to_owned()]).chain(sets).chain([key]).collect()
}

fn quoted(engine: usize, name: &str) -> String {
    let quote = if engine == 1 { "`" } else { "\"" };
    format!("{quote}{}{quote}", name.replace(quote, &quote.repeat(2)))
}

/// The type of a column that holds values of this type of Rust.
fn types(ty: &str) -> [&'static str; 3] {
    match ty.rsplit("::").next().unwrap_or(ty) {
        "now" => ["TIMESTAMPTZ", "DATETIME(6)", "TEXT"],
        "i64" => ["BIGINT", "BIGINT", "INTEGER"],
        "i32" => ["INTEGER", "INTEGER", "INTEGER"],
        "i16" => ["SMALLINT", "SMALLINT", "INTEGER"],
        "bool" => ["BOOLEAN", "BOOLEAN", "BOOLEAN"],
        "f64" => ["DOUBLE PRECISION", "DOUBLE PRECISION", "REAL"],
        "Vec<u8>" => ["BYTEA", "BLOB", "BLOB"],
        "Uuid" => ["UUID", "BINARY(16)", "BLOB"],
        _ => ["TEXT", "VARCHAR(191) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "TEXT"],
    }
}
