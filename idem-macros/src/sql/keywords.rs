//! The words that some dialect reserves, so that they are no names without quotes.

/// Whether `name`, in lower case, is reserved on PostgreSQL, MySQL, MariaDB or SQLite.
pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.binary_search(&name).is_ok()
}

/// In the order of their bytes.
#[rustfmt::skip] // One word a line would be hundreds of lines.
const KEYWORDS: &[&str] = &[
    "accessible", "account", "action", "add", "after", "all", "alter", "analyse", "analyze", "and", "any",
    "array", "as", "asc", "asensitive", "asymmetric", "attach", "authorization", "autoincrement", "before",
    "begin", "between", "bigint", "binary", "blob", "both", "by", "call", "cascade", "case", "cast", "change",
    "char", "character", "check", "collate", "collation", "column", "commit", "concurrently", "condition",
    "conflict", "connection", "constraint", "continue", "convert", "create", "cross", "cube", "cume_dist",
    "current", "current_catalog", "current_date", "current_role", "current_schema", "current_time",
    "current_timestamp", "current_user", "cursor", "database", "databases", "date", "day_hour",
    "day_microsecond", "day_minute", "day_second", "dec", "decimal", "declare", "default", "deferrable",
    "deferred", "delayed", "delete", "delete_domain_id", "dense_rank", "desc", "describe", "detach",
    "deterministic", "distinct", "distinctrow", "div", "do", "do_domain_ids", "double", "drop", "dual",
    "each", "else", "elseif", "empty", "enclosed", "end", "escape", "escaped", "except", "exclude",
    "exclusive", "exists", "exit", "explain", "fail", "false", "fetch", "filter", "first_value", "float",
    "float4", "float8", "following", "for", "force", "foreign", "freeze", "from", "full", "fulltext",
    "function", "general", "generated", "get", "glob", "grant", "group", "grouping", "groups", "having",
    "high_priority", "hour_microsecond", "hour_minute", "hour_second", "if", "ignore", "ignore_domain_ids",
    "ignore_server_ids", "ilike", "immediate", "in", "index", "indexed", "infile", "initially", "inner",
    "inout", "insensitive", "insert", "instead", "int", "int1", "int2", "int3", "int4", "int8", "integer",
    "intersect", "interval", "into", "io_after_gtids", "io_before_gtids", "is", "isnull", "iterate", "join",
    "json_table", "key", "keys", "kill", "lag", "last_value", "lateral", "lead", "leading", "leave", "left",
    "like", "limit", "linear", "lines", "load", "localtime", "localtimestamp", "lock", "long", "longblob",
    "longtext", "loop", "low_priority", "master_bind", "master_heartbeat_period",
    "master_ssl_verify_server_cert", "match", "materialized", "maxvalue", "mediumblob", "mediumint",
    "mediumtext", "middleint", "minute_microsecond", "minute_second", "mod", "modifies", "natural",
    "no_write_to_binlog", "not", "nothing", "notnull", "nth_value", "ntile", "null", "nulls", "numeric", "of",
    "offset", "on", "only", "optimize", "optimizer_costs", "option", "optionally", "or", "order", "others",
    "out", "outer", "outfile", "over", "overlaps", "page_checksum", "parse_vcol_expr", "partition",
    "percent_rank", "placing", "plan", "position", "pragma", "preceding", "precision", "primary", "procedure",
    "purge", "qualify", "query", "raise", "range", "rank", "read", "read_write", "reads", "real", "recursive",
    "ref_system_id", "references", "regexp", "reindex", "release", "rename", "repeat", "replace", "require",
    "resignal", "restrict", "return", "returning", "revoke", "right", "rlike", "rollback", "row",
    "row_number", "rows", "savepoint", "schema", "schemas", "second_microsecond", "select", "sensitive",
    "separator", "session_user", "set", "show", "signal", "similar", "slow", "smallint", "some", "spatial",
    "specific", "sql", "sql_big_result", "sql_calc_found_rows", "sql_small_result", "sqlexception",
    "sqlstate", "sqlwarning", "ssl", "starting", "stats_auto_recalc", "stats_persistent",
    "stats_sample_pages", "stored", "straight_join", "symmetric", "system", "system_user", "table", "tables",
    "tablesample", "temp", "temporary", "terminated", "then", "ties", "tinyblob", "tinyint", "tinytext", "to",
    "trailing", "transaction", "trigger", "true", "unbounded", "undo", "union", "unique", "unlock",
    "unsigned", "update", "usage", "use", "user", "using", "utc_date", "utc_time", "utc_timestamp", "vacuum",
    "values", "varbinary", "varchar", "varcharacter", "variadic", "varying", "verbose", "view", "virtual",
    "when", "where", "while", "window", "with", "within", "without", "write", "xor", "year_month", "zerofill",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_sorted_and_the_columns_of_a_history_are_not_among_them() {
        assert!(KEYWORDS.is_sorted());
        assert!(is_keyword("order"));
        let own = ["version", "source", "target", "event", "cause", "fingerprint", "at", "status"];
        assert!(own.iter().all(|name| !is_keyword(name)));
    }
}
