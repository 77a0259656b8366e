//! What is printed.

use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

use comfy_table::{Table, presets};
use idem_runtime::operator::{AuditEntry, ShownRecord, StoredRecord};

use crate::Record;

/// `println!` that a closed pipe does not stop.
macro_rules! say {
    ($($text:tt)*) => {
        let _ = writeln!(std::io::stdout(), $($text)*);
    };
}

/// The records, one a line, and their number in the last line, for programs.
pub(crate) fn list(records: &[StoredRecord]) {
    let mut table = table();
    table.set_header(["scope", "key", "status", "attempt", "age", "written", "lease", "begun", "owner"]);
    for record in records {
        let [age, written, lease] = times(record);
        let StoredRecord { scope, key, status, attempt, begun, owner, .. } = record;
        let (status, attempt, begun) = (status.to_string(), attempt.to_string(), begun.join(", "));
        table.add_row([scope, key, &status, &attempt, &age, &written, &lease, &begun, owner].map(line));
    }
    if !records.is_empty() {
        say!("{}\n", table.trim_fmt());
    }
    say!("open={}", records.len());
}

/// One record, a part a line.
pub(crate) fn record(shown: &ShownRecord) {
    let [age, written, lease] = times(&shown.record);
    let StoredRecord { scope, key, status, attempt, begun, owner, fingerprint, .. } = &shown.record;
    let (status, attempt, begun) = (status.to_string(), attempt.to_string(), begun.join(", "));
    let mut table = table();
    table.add_row(["scope", &line(scope)]).add_row(["key", &line(key)]).add_row(["status", &status]);
    table.add_row(["attempt", &attempt]).add_row(["owner", &line(owner)]).add_row(["begun", &line(&begun)]);
    table.add_row(["age", &age]).add_row(["written", &written]).add_row(["lease", &lease]);
    table.add_row(["fingerprint", &line(fingerprint)]);
    if let Some(answer) = &shown.answer {
        table.add_row(["answer", &line(answer)]);
        table.add_row(["type", &line(shown.answer_type.as_deref().unwrap_or("not known"))]);
    }
    say!("{}", table.trim_fmt());
}

/// What operators have done to a record, and the record as it was before.
pub(crate) fn audit(entries: &[AuditEntry]) {
    for AuditEntry { at, actor, action, reason, record, result, .. } in entries {
        say!("\n{at}  {} by {}: {}", line(action), line(actor), line(reason));
        say!("  was {}", line(record));
        if let Some(result) = result {
            say!("  now {}", line(result));
        }
    }
}

/// That a verb has done what it was to do.
pub(crate) fn done(what: &str, Record { scope, key }: &Record) {
    say!("{what} {} {}", line(scope), line(key));
}

fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// The age, how long ago it was written, and how long the lease goes on, in whole seconds.
fn times(record: &StoredRecord) -> [String; 3] {
    let seconds = |time: Duration| humantime::format_duration(Duration::from_secs(time.as_secs())).to_string();
    let lease = record.lease_left.map_or_else(|| "over".to_owned(), seconds);
    [seconds(record.age), format!("{} ago", seconds(record.unwritten_for)), lease]
}

/// A text on one line, whatever somebody has put into it.
fn line(text: impl Display) -> String {
    let escape = |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    text.to_string().chars().map(escape).collect()
}
