//! The rules about a machine's two tables, each a sentence that it can find.

use super::catalogue::{Column, Table};
use super::report::Report;
use super::subject::Subject;
use crate::machine::Repr;

/// The longest cause.
const CAUSE: i64 = 512;

pub(super) fn check_rows(subject: &Subject, rows: &Table, report: &mut Report) {
    for (id, _) in subject.columns.id {
        expect_column(&format!("{}, id {id}", subject.name), rows, id, report);
    }
    for (item, column, _) in subject.set() {
        expect_column(&item, rows, column, report);
    }
    if let Some(status) = expect_column(&subject.status_item(), rows, subject.columns.status, report) {
        check_status(subject, status, report);
    }
    check_version(subject, rows, report);
    let id: Vec<_> = subject.columns.id.iter().map(|(name, _)| *name).collect();
    if !rows.is_unique(&id) {
        let id = id.join(", ");
        report.add(
            &format!("{}, id", subject.name),
            format!("`{}` has no unique index on ({id}): an event would move several rows", rows.name),
        );
    }
}

/// The indexes of rules: by their names, since what they hold for is told by no catalogue in the same words.
pub(super) fn check_rules(subject: &Subject, rows: &Table, entries: Option<&Table>, report: &mut Report) {
    for rule in subject.rules {
        if let (false, index) = rows.has_index(rule) {
            let item = format!("{}, unique_while {rule}", subject.name);
            report.add(&item, format!("`{}` has no unique index `{index}`: the rule does not hold", rows.name));
        }
    }
    let Some(entries) = entries.filter(|_| subject.creates && !subject.once) else { return };
    if let (false, index) = entries.has_index("create")
        && !entries.is_unique(&["create_cause"])
    {
        report.add(
            &format!("{}, create", subject.name),
            format!("`{}` has no unique index `{index}`: a cause would create two rows", entries.name),
        );
    }
}

fn expect_column<'t>(item: &str, table: &'t Table, name: &str, report: &mut Report) -> Option<&'t Column> {
    let column = table.column(name);
    if column.is_none() {
        report.add_missing(item, &format!("column `{name}` of `{}`", table.name));
    }
    column
}

fn check_status(subject: &Subject, status: &Column, report: &mut Report) {
    let item = subject.status_item();
    if status.nullable {
        report.add(&item, "it can be NULL, which is no state".to_owned());
    }
    let integer = integer_bits(&status.ty).is_some();
    if integer != (subject.repr == Repr::Int) {
        let kind = if integer { "text" } else { "an integer" };
        return report.add(&item, format!("its type is {}, and the machine stores {kind}", status.ty));
    }
    // MySQL's own enums are texts to whoever reads them.
    if status.labels.is_some() && subject.repr == Repr::Text && !status.ty.starts_with("enum(") {
        return report.add(&item, format!("its type is {0}, an enum type: write `repr = native(\"{0}\")`", status.ty));
    }
    for value in subject.values.iter().filter(|value| !fits(value, status)) {
        report.add(&item, format!("its type, {}, cannot hold the state {value:?}", with_length(status)));
    }
}

fn with_length(column: &Column) -> String {
    match column.length {
        Some(length) if !column.ty.contains('(') => format!("{}({length})", column.ty),
        _ => column.ty.clone(),
    }
}

/// Whether a column can store a state's value.
fn fits(value: &str, column: &Column) -> bool {
    if let Some(labels) = &column.labels {
        return labels.iter().any(|label| label == value);
    }
    if let Some(bits) = integer_bits(&column.ty) {
        let unsigned = column.ty.contains("unsigned");
        let (low, high) = if unsigned { (0, 1_i128 << bits) } else { (-1_i128 << (bits - 1), 1_i128 << (bits - 1)) };
        return value.parse::<i128>().is_ok_and(|value| (low..high).contains(&value));
    }
    let length = if column.ty.contains("binary") { value.len() } else { value.chars().count() };
    column.length.is_none_or(|most| i64::try_from(length).is_ok_and(|length| length <= most))
}

/// How wide an integer of this type is; none where it is no integer.
fn integer_bits(ty: &str) -> Option<u32> {
    let ty = ty.to_ascii_lowercase();
    let bits = [("tinyint", 8), ("smallint", 16), ("mediumint", 24), ("bigint", 64)];
    let named = bits.iter().find(|(name, _)| ty.starts_with(name)).map(|(_, bits)| *bits);
    // An INTEGER of SQLite has 64 bits; of the other two, 32 hold what a state's value is, or the server refuses it.
    named.or_else(|| ty.starts_with("int").then_some(32))
}

fn check_version(subject: &Subject, rows: &Table, report: &mut Report) {
    let Some(name) = subject.columns.version else { return };
    let item = format!("{}, version column `{name}`", subject.name);
    let Some(version) = expect_column(&item, rows, name, report) else { return };
    if integer_bits(&version.ty).is_none() {
        report.add(&item, format!("its type is {}, and it counts", version.ty));
    }
    if version.nullable {
        report.add(&item, "it can be NULL, which never rises".to_owned());
    }
}

pub(super) fn check_history(subject: &Subject, entries: Option<&Table>, report: &mut Report) {
    const COLUMNS: [&str; 7] = ["version", "source", "target", "event", "cause", "fingerprint", "at"];
    let Some(history) = subject.columns.history else { return };
    let item = format!("{}, history", subject.name);
    let Some(entries) = entries else {
        return report.add_missing(&item, &format!("table `{history}`, made by the text of `schema::history`,"));
    };
    let id: Vec<_> = subject.columns.id.iter().map(|(name, _)| *name).collect();
    for name in id.iter().chain(&COLUMNS).chain(subject.columns.notes) {
        expect_column(&item, entries, name, report);
    }
    let versions = [&id[..], &["version"]].concat();
    expect_unique(&item, entries, &versions, "two entries could be of one version", report);
    let causes = if subject.once { vec!["event", "cause"] } else { [&id[..], &["event", "cause"]].concat() };
    expect_unique(&item, entries, &causes, "a cause that comes again would move the row again", report);
    if let Some(cause) = entries.column("cause") {
        check_cause(&item, cause, entries.compares_bytes(&causes), report);
    }
}

fn expect_unique(item: &str, table: &Table, columns: &[&str], without: &str, report: &mut Report) {
    if !table.is_unique(columns) {
        let columns = columns.join(", ");
        report.add(item, format!("`{}` has no unique index on ({columns}): {without}", table.name));
    }
}

fn check_cause(item: &str, cause: &Column, index_compares_bytes: bool, report: &mut Report) {
    if cause.folds || !index_compares_bytes {
        report.add(item, format!("`cause` ({}) does not compare as bytes: two causes could be one", cause.ty));
    }
    if cause.length.is_some_and(|length| length < CAUSE) {
        report.add(item, format!("`cause` ({}) does not hold {CAUSE} bytes", with_length(cause)));
    }
}
