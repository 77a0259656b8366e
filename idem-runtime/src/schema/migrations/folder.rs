//! The files of a folder of migrations.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::MigrationsError;
use crate::schema::change::{MARKER, Migration};

/// The files, the oldest first.
pub(super) struct Folder {
    path: PathBuf,
    files: Vec<File>,
}

struct File {
    path: PathBuf,
    /// The number that its name begins with.
    version: u64,
    /// How many digits that number has.
    digits: usize,
    text: String,
}

/// A text that stands in a file.
pub(super) struct Found<'f> {
    pub(super) path: &'f Path,
    /// The line that names it, if one does.
    pub(super) marker: &'f str,
    /// What follows, up to the next such line, or all of the file.
    pub(super) text: &'f str,
}

impl Found<'_> {
    /// Whether this text is a part of it, however it is indented.
    pub(super) fn holds(&self, text: &str) -> bool {
        words(self.text).contains(words(text).trim_end_matches(';'))
    }
}

/// The least version that is a time, `YYYYMMDDhhmmss`, and not a number that somebody counts up.
const FIRST_TIME: u64 = 19_700_101_000_000;

impl Folder {
    pub(super) fn read(path: &Path) -> Result<Self, MigrationsError> {
        let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|source| failed(path, source))?;
        let files = entries.iter().filter_map(|entry| File::read(entry.path()).transpose());
        let mut files = files.collect::<Result<Vec<_>, _>>()?;
        files.sort_by_key(|file| file.version);
        Ok(Self { path: path.to_owned(), files })
    }

    /// The newest text of a name.
    pub(super) fn newest(&self, name: &str) -> Option<Found<'_>> {
        self.files.iter().rev().find_map(|file| file.newest(name))
    }

    /// The file that has this text, however it is indented and without a line that names it.
    pub(super) fn holding(&self, text: &str) -> Option<Found<'_>> {
        let mut files = self.files.iter().map(|file| Found { path: &file.path, marker: "", text: &file.text });
        files.find(|file| file.holds(text))
    }

    /// Writes a file for each text.
    pub(super) fn add<'m>(&self, texts: impl Iterator<Item = &'m Migration>) -> Result<Vec<PathBuf>, MigrationsError> {
        let (version, digits) = self.next_version();
        let named = (version..).zip(texts).map(|(version, text)| {
            let path = self.path.join(format!("{version:0digits$}_idem_{}.sql", text.name));
            create(&path, &text.to_string()).map_err(|source| failed(&path, source))?;
            Ok(path)
        });
        named.collect()
    }

    /// The version of the next file, and with how many digits it is written.
    fn next_version(&self) -> (u64, usize) {
        let newest = self.files.last().map(|file| (file.version, file.digits));
        match newest {
            Some((version, digits)) if version < FIRST_TIME => (version + 1, digits),
            Some((version, digits)) => (time().max(version + 1), digits),
            None => (time(), 14),
        }
    }
}

impl File {
    /// None for what sqlx does not run forwards.
    fn read(path: PathBuf) -> Result<Option<Self>, MigrationsError> {
        let name = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_suffix(".sql"));
        let digits = name.filter(|name| name.strip_suffix(".down").is_none()).and_then(|name| name.split_once('_'));
        let Some((version, digits)) = digits.and_then(|(digits, _)| Some((digits.parse().ok()?, digits.len()))) else {
            return Ok(None);
        };
        let text = fs::read_to_string(&path).map_err(|source| failed(&path, source))?;
        Ok(Some(Self { path, version, digits, text }))
    }

    fn newest(&self, name: &str) -> Option<Found<'_>> {
        let (start, marker) = self.markers().filter(|(_, marker)| named(marker) == Some(name)).last()?;
        let text = &self.text[start + marker.len()..];
        let end = text.find(&format!("\n{MARKER}")).unwrap_or(text.len());
        Some(Found { path: &self.path, marker: marker.trim_end(), text: &text[..end] })
    }

    /// The lines that name a text, and where they begin.
    fn markers(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut start = 0;
        let lines = self.text.split_inclusive('\n').map(move |line| {
            let at = start;
            start += line.len();
            (at, line)
        });
        lines.filter(|(_, line)| line.starts_with(MARKER))
    }
}

/// The name that stands in the line before the hash.
fn named(marker: &str) -> Option<&str> {
    marker.strip_prefix(MARKER)?.split_whitespace().next()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Never in place of a file that is there.
fn create(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

fn failed(path: &Path, source: io::Error) -> MigrationsError {
    MigrationsError::File { path: path.to_owned(), source }
}

/// The time as sqlx writes it into the name of a file, in UTC.
fn time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    as_version(since.as_secs())
}

/// `20260131235959` of the seconds since 1970: the calendar of the years from March on, whose leap day is their last.
fn as_version(seconds: u64) -> u64 {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day + 2) / 153;
    let day = day - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let date = year * 10_000 + month * 100 + day;
    date * 1_000_000 + second / 3_600 * 10_000 + second / 60 % 60 * 100 + second % 60
}

#[cfg(test)]
mod tests {
    use super::as_version;

    #[test]
    fn the_calendar() {
        let days =
            [(0, 19_700_101), (11_016, 20_000_229), (11_017, 20_000_301), (19_723, 20_240_101), (47_540, 21_000_228)];
        for (day, date) in days {
            assert_eq!(as_version(day * 86_400), date * 1_000_000, "day {day}");
        }
        assert_eq!(as_version(1_709_251_199), 20_240_229_235_959);
    }
}
