//! The folder of a user's migrations: whether it holds the texts that the program needs, and new files for those that it
//! does not.

mod folder;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::slice;

use self::folder::{Folder, Found};
use super::change::{Migration, adopt, change, install, values};
use super::upgrade::{former, upgrade};
use super::{columns, ddl, status_type};
use crate::dialect::Dialect;
use crate::machine::StateMachine;

/// The texts that a program needs, held against the `.sql` files of a folder as sqlx names them,
/// `<version>_<description>.sql`.
///
/// A text is known by the line that it begins with, `-- idem: orders_status_guard 1a2b3c4d`, its name and the hash of what
/// is needed; of several files with one name the newest counts. What else stands in a file is the user's: a
/// `SET lock_timeout` before the text, or several texts in one file. Texts that are written once (idem's tables, a history,
/// rules, the columns of a table) also count without such a line where they stand in a file as they are.
///
/// A file that is there is never changed, since sqlx refuses one that differs from what it has applied: what a release
/// changes is one more file. A test of one's own keeps the folder up to date:
///
/// ```
/// # use idem_runtime::prelude::*;
/// # #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
/// # #[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
/// # #[transition(pay: Pending => Paid, set(trade_no: String))]
/// # pub enum OrderStatus { #[state(initial)] Pending, #[state(terminal)] Paid }
/// use idem_runtime::schema::{Migrations, MigrationsError};
///
/// fn migrations_are_written(folder: &str) -> Result<(), MigrationsError> {
///     let migrations = Migrations::new(folder, Dialect::Postgres).with_idem().adopt::<OrderStatus>();
///     if std::env::var_os("UPDATE_EXPECT").is_some() {
///         migrations.write()?;
///     }
///     migrations.check()
/// }
/// # assert!(migrations_are_written("no such folder").is_err());
/// ```
#[derive(Debug)]
#[must_use = "`check` or `write` looks at the folder"]
pub struct Migrations {
    folder: PathBuf,
    dialect: Dialect,
    wanted: Vec<Wanted>,
}

/// A text that has to be there.
#[derive(Debug)]
struct Wanted {
    /// When no file has one of its name.
    first: Migration,
    /// When the newest file has a former one; none where idem cannot know how to come from that one.
    next: Vec<Migration>,
    /// Former ones, which also count in a file without a line that names them, and what comes after each in place of `next`.
    former: Vec<(Migration, Vec<Migration>)>,
    /// What else shows that it is there, as a text without a line that names it.
    unnamed: Option<String>,
    /// Whether a former one will do.
    later: bool,
}

/// A text that the folder does not hold as the program needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Behind {
    /// Its name: `orders_status_guard`.
    pub name: String,
    /// The newest file that has a text of the name, if one has.
    pub file: Option<PathBuf>,
    /// The line that stands in the file that puts an end to this.
    pub marker: String,
    /// Whether [`Migrations::write`] can write that file.
    pub writable: bool,
    /// The lines that the text in the file has and the needed one has not, and those that are new.
    pub difference: String,
}

/// Why a folder of migrations is not what the program needs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationsError {
    /// The folder or a file in it cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Texts are missing or outdated.
    #[error("the migrations in `{}` are behind the program{}", folder.display(), list(.texts))]
    Behind {
        /// The folder.
        folder: PathBuf,
        /// Which, in the order in which they run.
        texts: Vec<Behind>,
    },
}

impl Migrations {
    /// Begins with the folder, `migrations` for most, which is there already. Needs nothing yet.
    pub fn new(folder: impl Into<PathBuf>, dialect: Dialect) -> Self {
        Self { folder: folder.into(), dialect, wanted: Vec::new() }
    }

    /// The tables of idem, for those who do not call [`Idem::migrate`](crate::Idem::migrate): the text of [`ddl`], and after
    /// a release that changes it the steps of [`upgrade`] that the text in the newest file needs.
    pub fn with_idem(mut self) -> Self {
        let tables = Wanted::once(Migration::new("tables", "The tables of idem.", ddl(self.dialect)));
        let (next, former) = (upgrade(self.dialect), former(self.dialect));
        self.wanted.push(Wanted { next, former, ..tables });
        self
    }

    /// The texts of a machine whose table was made with [`columns`], by a file of one's own: the values of the status
    /// column, the history, the rules and the guard.
    pub fn with<M: StateMachine>(self) -> Self {
        let first = [values::<M>(self.dialect), install::<M>(self.dialect)].concat();
        self.and::<M>(first)
    }

    /// The texts of a machine whose table is older than idem: those of [`adopt`], and after a release that changes the
    /// machine those of [`change`].
    pub fn adopt<M: StateMachine>(self) -> Self {
        let first = adopt::<M>(self.dialect);
        self.and::<M>(first)
    }

    fn and<M: StateMachine>(mut self, first: Vec<Migration>) -> Self {
        let (values, changes) = (values::<M>(self.dialect), change::<M>(self.dialect));
        // Where a new table names the values.
        let new_table = status_type::<M>(self.dialect).unwrap_or(columns::<M>(self.dialect));
        self.wanted.extend(first.into_iter().map(|first| {
            let is_of_values = values.iter().any(|it| it.name == first.name);
            let wanted = Wanted::changing(first, &changes);
            if is_of_values { Wanted { unnamed: Some(new_table.to_owned()), ..wanted } } else { wanted }
        }));
        self
    }

    /// Leaves the former texts of what a machine's [`change`] replaces as they are, while a release is on its way that takes
    /// a transition or a state away: narrower texts follow it, and migrations usually run before. Comes after
    /// [`with`](Self::with) or [`adopt`](Self::adopt), and goes with the next release.
    pub fn later<M: StateMachine>(mut self) -> Self {
        let changes = change::<M>(self.dialect);
        for wanted in &mut self.wanted {
            wanted.later |= changes.iter().any(|it| it.name == wanted.first.name);
        }
        self
    }

    /// Fails unless the folder holds every text as the program needs it.
    ///
    /// # Errors
    ///
    /// [`MigrationsError::Behind`] with what is missing or outdated, [`MigrationsError::File`].
    pub fn check(&self) -> Result<(), MigrationsError> {
        let folder = Folder::read(&self.folder)?;
        self.refuse(self.wanted.iter().filter_map(|it| Some(it.behind(&folder)?.0)).collect())
    }

    /// Writes a new file for each text that is missing or outdated, in the order in which they run, with versions after
    /// those of all files that are there: the time, or the next number where they are numbered. Gives the new files.
    ///
    /// What was made for one dialect is of no use to another; keep a folder for each.
    ///
    /// # Errors
    ///
    /// [`MigrationsError::Behind`], and nothing is written, with the outdated texts that idem does not know how to change:
    /// a history, a rule. Write that change by hand, below the line that the error names.
    /// [`MigrationsError::File`].
    pub fn write(&self) -> Result<Vec<PathBuf>, MigrationsError> {
        let folder = Folder::read(&self.folder)?;
        let behind = self.wanted.iter().filter_map(|it| it.behind(&folder));
        let (writable, by_hand): (Vec<_>, Vec<_>) = behind.partition(|(behind, _)| behind.writable);
        self.refuse(by_hand.into_iter().map(|(behind, _)| behind).collect())?;
        folder.add(writable.into_iter().flat_map(|(_, texts)| texts))
    }

    fn refuse(&self, texts: Vec<Behind>) -> Result<(), MigrationsError> {
        if texts.is_empty() { Ok(()) } else { Err(MigrationsError::Behind { folder: self.folder.clone(), texts }) }
    }
}

impl Wanted {
    fn once(text: Migration) -> Self {
        Self { unnamed: Some(text.sql.clone()), first: text, next: Vec::new(), former: Vec::new(), later: false }
    }

    /// With what takes its place after a release that changes the machine, if something does.
    fn changing(first: Migration, changes: &[Migration]) -> Self {
        match changes.iter().find(|it| it.name == first.name) {
            Some(next) => Self { next: vec![next.clone()], unnamed: None, ..Self::once(first) },
            None => Self::once(first),
        }
    }

    /// What would be written.
    fn texts(&self, found: Option<&Found<'_>>) -> &[Migration] {
        let Some(found) = found else { return slice::from_ref(&self.first) };
        let former = self.former.iter().find(|(text, _)| found.marker == text.marker() || found.holds(&text.sql));
        former.map_or(&self.next, |(_, next)| next)
    }

    /// What is outdated or missing, and what would be written. None when the folder holds it.
    fn behind(&self, folder: &Folder) -> Option<(Behind, &[Migration])> {
        let marker = self.first.marker();
        let found = folder.newest(&self.first.name);
        match &found {
            Some(found) if self.later || found.marker == marker => return None,
            None if self.unnamed.as_ref().is_some_and(|text| folder.holding(text).is_some()) => return None,
            _ => {}
        }
        let found = found.or_else(|| self.former.iter().find_map(|(text, _)| folder.holding(&text.sql)));
        let texts = self.texts(found.as_ref());
        let wanted = texts.first().unwrap_or(&self.first).sql.as_str();
        let behind = Behind {
            name: self.first.name.clone(),
            marker,
            writable: !texts.is_empty(),
            difference: found.as_ref().map(|found| difference(found.text, wanted)).unwrap_or_default(),
            file: found.map(|found| found.path.to_owned()),
        };
        Some((behind, texts))
    }
}

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            None => write!(f, "`{}` is in no file", self.name)?,
            Some(file) => write!(f, "`{}` in `{}` is outdated\n{}", self.name, file.display(), self.difference)?,
        }
        let help = if self.writable { "`write()` adds a file, or add one" } else { "add a file that changes it" };
        write!(f, "\nhelp: {help}, with the line `{}`", self.marker)
    }
}

fn list(texts: &[Behind]) -> String {
    texts.iter().map(|text| format!("\n\n{text}")).collect::<Vec<_>>().concat()
}

/// The lines that only one of two texts has, without the user's comments.
fn difference(found: &str, wanted: &str) -> String {
    fn lines(text: &str) -> Vec<&str> {
        let lines = text.lines().map(|line| line.trim_end().trim_end_matches(';'));
        lines.filter(|line| !line.is_empty() && !line.starts_with("--")).collect()
    }
    let (found, wanted) = (lines(found), lines(wanted));
    let only = |sign, of: &[&str], other: &[&str]| -> Vec<_> {
        of.iter().filter(|line| !other.contains(line)).map(|line| format!("{sign} {line}")).collect()
    };
    [only('-', &found, &wanted), only('+', &wanted, &found)].concat().join("\n")
}
