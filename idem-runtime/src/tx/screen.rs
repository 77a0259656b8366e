//! Reads the first words of a statement: whether it could end the transaction that it runs in.

use crate::dialect::Dialect;

/// What a statement does to the transaction around it, as far as its text tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Stays,
    /// It would commit it or roll it back.
    Ends,
    /// The text does not tell, as with `CALL` or several statements in one.
    Unknown,
}

/// Statements that end a transaction everywhere.
const CONTROL: [&str; 7] = ["ABORT", "BEGIN", "COMMIT", "END", "PREPARE TRANSACTION", "START", "XA"];

/// Statements that commit implicitly on MySQL and MariaDB.
const IMPLICIT: [&str; 21] = [
    "ALTER",
    "ANALYZE",
    "CACHE",
    "CHANGE",
    "CHECK",
    "CREATE",
    "DROP",
    "FLUSH",
    "GRANT",
    "INSTALL",
    "LOAD INDEX",
    "LOCK",
    "OPTIMIZE",
    "RENAME",
    "REPAIR",
    "RESET",
    "REVOKE",
    "SET PASSWORD",
    "STOP",
    "TRUNCATE",
    "UNLOCK",
];

/// Statements that never do.
const PLAIN: [&str; 13] = [
    "DELETE",
    "DESCRIBE",
    "DO",
    "EXPLAIN",
    "INSERT",
    "RELEASE",
    "REPLACE",
    "ROLLBACK TO",
    "SAVEPOINT",
    "SELECT",
    "SHOW",
    "UPDATE",
    "WITH",
];

pub(super) fn effect(dialect: Dialect, sql: &str) -> Effect {
    let words = first_words(sql);
    let starts = |with: &str| words == with || words.starts_with(&format!("{with} "));
    let rolls_back = starts("ROLLBACK") && !words.contains(" TO");
    if rolls_back || CONTROL.into_iter().any(starts) {
        return Effect::Ends;
    }
    if dialect != Dialect::MySql {
        return if several(sql) { Effect::Unknown } else { Effect::Stays };
    }
    let temporary = starts("CREATE TEMPORARY") || starts("DROP TEMPORARY");
    match () {
        () if several(sql) => Effect::Unknown,
        () if IMPLICIT.into_iter().any(starts) && !temporary => Effect::Ends,
        () if starts("SET") && sql.to_ascii_uppercase().contains("AUTOCOMMIT") => Effect::Ends,
        // MariaDB runs the statement that stands behind the settings.
        () if starts("SET STATEMENT") => Effect::Unknown,
        () if PLAIN.into_iter().any(starts) || starts("SET") || temporary => Effect::Stays,
        () => Effect::Unknown,
    }
}

/// Whether a semicolon stands before the end; one in a literal counts too, which costs a look at the server only.
fn several(sql: &str) -> bool {
    sql.trim_end().trim_end_matches(';').contains(';')
}

/// The first three words in upper case, comments skipped. What MySQL executes inside `/*! .. */` is no comment.
fn first_words(sql: &str) -> String {
    let mut rest = sql.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    loop {
        let end = match rest {
            _ if rest.starts_with("--") || rest.starts_with('#') => rest.find('\n').map(|at| at + 1),
            _ if rest.starts_with("/*!") || rest.starts_with("/*M!") => None,
            _ if rest.starts_with("/*") => rest.find("*/").map(|at| at + 2),
            _ => None,
        };
        match end {
            Some(end) => rest = rest[end..].trim_start(),
            None => break,
        }
    }
    let ends_word = |c: char| c.is_whitespace() || matches!(c, '(' | ';' | '=' | '/' | '-' | '#');
    let words = rest.split(ends_word).filter(|word| !word.is_empty());
    words.take(3).collect::<Vec<_>>().join(" ").to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_statements_end_a_transaction_everywhere() {
        let ends = [
            "COMMIT",
            " rollback ",
            "/* c */ begin",
            "-- c\nstart transaction",
            "END",
            "rollback work",
            "COMMIT;",
            "COMMIT/* c */",
            "COMMIT--",
        ];
        for dialect in Dialect::ALL {
            for sql in ends {
                assert_eq!(effect(dialect, sql), Effect::Ends, "{sql}");
            }
            for sql in
                ["ROLLBACK TO s", "ROLLBACK TO SAVEPOINT s", "SAVEPOINT s", "SELECT 1", "(SELECT 1)", "with a as (..)"]
            {
                assert_eq!(effect(dialect, sql), Effect::Stays, "{sql}");
            }
            assert_eq!(effect(dialect, "INSERT ..; COMMIT"), Effect::Unknown);
        }
    }

    #[test]
    fn mysql_commits_implicitly_before_ddl() {
        for sql in [
            "CREATE TABLE t (a int)",
            "truncate temporary_t",
            "Alter Table t",
            "SET autocommit = 1",
            "set @a = 1, @@autocommit=1",
        ] {
            assert_eq!(effect(Dialect::MySql, sql), Effect::Ends, "{sql}");
            assert_eq!(effect(Dialect::Postgres, sql), Effect::Stays, "{sql}");
        }
        for sql in ["CREATE TEMPORARY TABLE t (a int)", "SET @a = 1", "INSERT INTO t VALUES (1)"] {
            assert_eq!(effect(Dialect::MySql, sql), Effect::Stays, "{sql}");
        }
        for sql in ["CALL p()", "/*! CREATE TABLE t (a int) */", "EXECUTE s", "SET STATEMENT a = 1 FOR TRUNCATE t"] {
            assert_eq!(effect(Dialect::MySql, sql), Effect::Unknown, "{sql}");
        }
    }
}
