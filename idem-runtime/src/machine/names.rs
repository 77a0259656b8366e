//! The names of what idem makes beside a table.

/// The longest name that PostgreSQL keeps whole.
const LONGEST_NAME: usize = 63;

/// A table's name without its schema.
pub(crate) fn without_schema(table: &str) -> &str {
    table.rsplit('.').next().unwrap_or(table)
}

/// The index that is named after a table and this, as every server keeps its name.
pub(crate) fn index_name(table: &str, suffix: &str) -> String {
    let mut name = format!("{}_{suffix}", without_schema(table));
    while name.len() > LONGEST_NAME {
        name.pop();
    }
    name
}
