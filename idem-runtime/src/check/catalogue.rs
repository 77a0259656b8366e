//! What the catalogue says of one table.

use crate::dialect::{Dialect, PerDialect, SqlDialect};
use crate::machine::index_name;
use crate::tx::Lent;

/// A table as it is.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    columns: Vec<Column>,
    /// The columns of each unique index, and whether they compare as bytes in it.
    unique: Vec<(Vec<String>, bool)>,
    /// The name of each unique index, those that are for some rows only included.
    names: Vec<String>,
}

/// A column as it is.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// Its type in the server's words.
    pub(super) ty: String,
    pub(super) nullable: bool,
    /// The most that it holds: characters, or bytes where it holds those.
    pub(super) length: Option<i64>,
    /// The labels of its enum type.
    pub(super) labels: Option<Vec<String>>,
    /// Whether values that differ in their bytes can be equal.
    pub(super) folds: bool,
}

/// Between the parts of a list.
const SEPARATOR: char = '\u{1f}';

/// The columns `name`, `type`, `nullable`, `length`, `labels`, `folds`. The parameters are a schema, none for the current
/// one, and a table; on PostgreSQL both quoted.
const COLUMNS: PerDialect<&str> = PerDialect {
    postgres: "\
SELECT a.attname::text AS name, format_type(a.atttypid, NULL) AS type, (NOT a.attnotnull)::int4 AS nullable,
       CASE WHEN t.typname IN ('varchar', 'bpchar') AND a.atttypmod > 4 THEN a.atttypmod - 4 END AS length,
       (SELECT string_agg(e.enumlabel, chr(31)) FROM pg_enum AS e WHERE e.enumtypid = t.oid) AS labels,
       CASE WHEN t.typname IN ('text', 'varchar') THEN (NOT coalesce(c.collisdeterministic, TRUE))::int4 ELSE 1 END AS folds
  FROM pg_attribute AS a
  JOIN pg_type AS t ON t.oid = a.atttypid
  LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
 WHERE a.attrelid = to_regclass(coalesce($1::text || '.', '') || $2::text) AND a.attnum > 0 AND NOT a.attisdropped",
    mysql: "\
SELECT column_name AS name, column_type AS type, is_nullable = 'YES' AS nullable,
       character_maximum_length AS length, IF(data_type = 'enum', column_type, NULL) AS labels,
       data_type NOT IN ('varbinary', 'blob', 'mediumblob', 'longblob') AS folds
  FROM information_schema.columns
 WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?",
    sqlite: "\
SELECT name, lower(type) AS type, \"notnull\" = 0 AND NOT (pk > 0 AND upper(type) = 'INTEGER') AS nullable, NULL AS length,
       NULL AS labels, 0 AS folds
  FROM pragma_table_xinfo(?2, coalesce(?1, 'main'))",
};

/// The columns `columns`, of one unique index that holds for every row, and `as_bytes`.
const UNIQUE: PerDialect<&str> = PerDialect {
    postgres: "\
SELECT (SELECT string_agg(a.attname, chr(31))
          FROM unnest(i.indkey) WITH ORDINALITY AS k (attnum, place)
          JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
         WHERE k.place <= i.indnkeyatts) AS columns, 1 AS as_bytes
  FROM pg_index AS i
 WHERE i.indrelid = to_regclass(coalesce($1::text || '.', '') || $2::text)
   AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL",
    mysql: "\
SELECT GROUP_CONCAT(column_name SEPARATOR 0x1f) AS columns, 1 AS as_bytes
  FROM information_schema.statistics
 WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? AND non_unique = 0
 GROUP BY index_name
HAVING COUNT(sub_part) = 0",
    sqlite: "\
SELECT group_concat(c.name, char(31)) AS columns, min(c.coll = 'BINARY') AS as_bytes
  FROM pragma_index_list(?2, coalesce(?1, 'main')) AS l, pragma_index_xinfo(l.name, coalesce(?1, 'main')) AS c
 WHERE l.\"unique\" = 1 AND l.partial = 0 AND c.key = 1
 GROUP BY l.name
 UNION ALL
SELECT group_concat(name, char(31)), 1
  FROM pragma_table_info(?2, coalesce(?1, 'main'))
 WHERE pk > 0 HAVING COUNT(*) = 1 AND upper(min(type)) = 'INTEGER'",
};

/// The column `name`, of one unique index.
const NAMES: PerDialect<&str> = PerDialect {
    postgres: "\
SELECT c.relname::text AS name
  FROM pg_index AS i
  JOIN pg_class AS c ON c.oid = i.indexrelid
 WHERE i.indrelid = to_regclass(coalesce($1::text || '.', '') || $2::text) AND i.indisunique AND i.indisvalid",
    mysql: "\
SELECT DISTINCT index_name AS name
  FROM information_schema.statistics
 WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ? AND non_unique = 0",
    sqlite: "SELECT name FROM pragma_index_list(?2, coalesce(?1, 'main')) WHERE \"unique\" = 1",
};

impl Table {
    /// Reads it; none where there is no such table.
    pub(super) async fn read<DB: SqlDialect>(
        lent: &mut Lent<DB>,
        name: &'static str,
    ) -> Result<Option<Self>, sqlx::Error> {
        let columns = lent.rows((*COLUMNS.of(DB::DIALECT), Some(arguments::<DB>(name)?))).await?;
        let columns = columns.iter().map(column::<DB>).collect::<Result<Vec<_>, _>>()?;
        let unique = lent.rows((*UNIQUE.of(DB::DIALECT), Some(arguments::<DB>(name)?))).await?;
        let unique = unique.iter().map(index::<DB>).collect::<Result<_, _>>()?;
        let names = lent.rows((*NAMES.of(DB::DIALECT), Some(arguments::<DB>(name)?))).await?;
        let names = names.iter().map(|row| Ok(DB::text(row, "name")?.unwrap_or_default()));
        let names = names.collect::<Result<_, sqlx::Error>>()?;
        Ok(Some(Self { name, columns, unique, names }).filter(|table| !table.columns.is_empty()))
    }

    /// MySQL and SQLite take a name in any case.
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Whether a unique index is on exactly these columns, in any order.
    pub(super) fn is_unique(&self, columns: &[&str]) -> bool {
        self.unique.iter().any(|(of, _)| same(of, columns))
    }

    /// Whether the unique index is there that idem names after the table and this; its name is also given.
    pub(super) fn has_index(&self, suffix: &str) -> (bool, String) {
        let name = index_name(self.name, suffix);
        (self.names.contains(&name), name)
    }

    /// Whether each unique index on these columns tells apart what differs in its bytes.
    pub(super) fn compares_bytes(&self, columns: &[&str]) -> bool {
        self.unique.iter().filter(|(of, _)| same(of, columns)).all(|(_, as_bytes)| *as_bytes)
    }
}

fn same(found: &[String], wanted: &[&str]) -> bool {
    let wanted_one = |name: &String| wanted.iter().any(|it| it.eq_ignore_ascii_case(name));
    found.len() == wanted.len() && found.iter().all(wanted_one)
}

fn arguments<DB: SqlDialect>(path: &str) -> Result<DB::Arguments, sqlx::Error> {
    let part = |name: &str| match DB::DIALECT {
        Dialect::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
        Dialect::MySql | Dialect::Sqlite => name.to_owned(),
    };
    let (schema, table) = path.rsplit_once('.').map_or((None, path), |(schema, table)| (Some(schema), table));
    let mut arguments = DB::Arguments::default();
    DB::bind(&mut arguments, &schema.map(part)).map_err(sqlx::Error::Encode)?;
    DB::bind(&mut arguments, &part(table)).map_err(sqlx::Error::Encode)?;
    Ok(arguments)
}

fn column<DB: SqlDialect>(row: &DB::Row) -> Result<Column, sqlx::Error> {
    Ok(Column {
        name: DB::text(row, "name")?.unwrap_or_default(),
        ty: DB::text(row, "type")?.unwrap_or_default(),
        nullable: DB::integer(row, "nullable")? == Some(1),
        length: DB::integer(row, "length")?,
        labels: DB::text(row, "labels")?.map(|labels| self::labels(DB::DIALECT, &labels)),
        folds: DB::integer(row, "folds")? == Some(1),
    })
}

fn index<DB: SqlDialect>(row: &DB::Row) -> Result<(Vec<String>, bool), sqlx::Error> {
    let columns = DB::text(row, "columns")?.unwrap_or_default();
    Ok((columns.split(SEPARATOR).map(str::to_owned).collect(), DB::integer(row, "as_bytes")? == Some(1)))
}

/// MySQL writes them as in a definition: `enum('a','it''s')`.
fn labels(dialect: Dialect, text: &str) -> Vec<String> {
    if dialect != Dialect::MySql {
        return text.split(SEPARATOR).map(str::to_owned).collect();
    }
    let inner = text.trim_start_matches("enum('").trim_end_matches("')");
    inner.split("','").map(|label| label.replace("''", "'")).collect()
}
