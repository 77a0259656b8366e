//! The cases of tests/ui, read: the page docs/errors.md that is made from them, and what holds for all of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

/// `cargo xtask golden` renews it.
#[test]
fn the_page_of_errors() {
    expect_file!["../docs/errors.md"].assert_eq(&page());
}

/// In each case of tests/ui/echo a fault could break a second rule as well.
#[test]
fn one_fault_is_one_error() {
    for case in files("tests/ui/echo").iter().map(|file| Case::read(file)) {
        assert_eq!(case.errors().len(), 1, "{}: {:#?}", case.file.display(), case.errors());
    }
}

/// A rule is a function `check_<rule>`, and its case is the file of that name.
#[test]
fn every_rule_has_a_case() {
    for (derive, known_rule) in [("machine", "unreachable"), ("idempotent", "missing_key"), ("key_part", "equal_texts")]
    {
        let (rules, folder) = (rules(derive), format!("tests/ui/{derive}"));
        assert!(rules.contains(known_rule), "the rules of {derive} were not found: {rules:?}");
        let cases: BTreeSet<_> = files(&folder).iter().map(|case| name(case)).collect();
        let missing: Vec<_> = rules.difference(&cases).collect();
        assert!(missing.is_empty(), "rules without a case in {folder}: {missing:?}");
    }
}

fn rules(derive: &str) -> BTreeSet<String> {
    let folder = format!("idem-macros/src/{derive}/check");
    let beside = root().join(&folder).with_extension("rs");
    let inside = if root().join(&folder).is_dir() { files(&folder) } else { Vec::new() };
    let text: String = inside.into_iter().chain([beside]).map(|file| read(&file)).collect();
    let rules = text.split("fn check_").skip(1).filter_map(|rule| rule.split_once(['(', '<']));
    rules.map(|(name, _)| name.to_owned()).collect()
}

const INTRODUCTION: &str = "# What the compiler says

Every error that idem's macros report, and those of rustc that their types lead to: the rule, a piece of code that
breaks it, and the compiler's text. Find yours in the list by its first line; the names in backticks are those of the
example. One fault is one error, and its `help:` line says what to write.

This page is made from [tests/ui](../tests/ui) by `cargo xtask golden`, so the texts are those of the compiler.
";

/// A chapter: its title, the folder of its cases, and whether rustc reports them or a macro.
const CHAPTERS: [(&str, &str, Reporter); 6] = [
    ("Declaring a machine", "machine", Reporter::Macro),
    ("Using a machine", "machine", Reporter::Rustc),
    ("Declaring an idempotent function", "idempotent", Reporter::Macro),
    ("Writing and calling an idempotent function", "idempotent", Reporter::Rustc),
    ("Declaring a part of a key", "key_part", Reporter::Macro),
    ("Using a part of a key", "key_part", Reporter::Rustc),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reporter {
    Macro,
    /// Its errors have a code, or name the lint that makes errors of them.
    Rustc,
}

fn page() -> String {
    let chapters = CHAPTERS.map(|(title, folder, reporter)| (title, cases(folder, reporter)));
    let mut page = INTRODUCTION.to_owned();
    for (title, cases) in &chapters {
        let _ = write!(page, "\n**{title}**\n\n{}", contents(cases));
    }
    for (title, cases) in &chapters {
        let _ = write!(page, "\n## {title}\n{}", cases.iter().map(Case::section).collect::<String>());
    }
    page
}

/// In the order of their first errors.
fn cases(folder: &str, reporter: Reporter) -> Vec<Case> {
    let cases = files(&format!("tests/ui/{folder}")).into_iter().map(|file| Case::read(&file));
    let mut cases: Vec<_> = cases.filter(|case| case.reporter() == reporter).collect();
    cases.sort_by_key(|case| sort_key(case.errors()[0]));
    cases
}

/// A line for each error, which leads to the case that shows it.
fn contents(cases: &[Case]) -> String {
    let lines = cases.iter().flat_map(|case| case.kinds().into_iter().map(move |error| (error, case)));
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by_key(|(error, _)| sort_key(error));
    lines.iter().fold(String::new(), |list, (error, case)| list + &format!("- [{error}](#{})\n", case.anchor()))
}

/// Letters only: a name in backticks stands where it is read.
fn sort_key(error: &str) -> String {
    let letters: String = error.chars().filter(|letter| letter.is_alphanumeric() || *letter == ' ').collect();
    letters.trim_start().to_lowercase()
}

/// The error with a gap for each name.
fn pattern(error: &str) -> String {
    let is_name = |text: &str| text.contains(char::is_alphabetic);
    let parts = error.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 1 && is_name(part) { ".." } else { part }).collect()
}

/// A file of tests/ui and what the compiler says about it.
struct Case {
    file: PathBuf,
    source: String,
    stderr: String,
}

impl Case {
    fn read(file: &Path) -> Self {
        Self { file: file.to_owned(), source: read(file), stderr: read(&file.with_extension("stderr")) }
    }

    fn reporter(&self) -> Reporter {
        let is_lint = self.stderr.contains("the lint level is defined here");
        if is_lint || self.stderr.starts_with("error[") { Reporter::Rustc } else { Reporter::Macro }
    }

    /// The first line of each error, without rustc's code.
    fn errors(&self) -> Vec<&str> {
        let errors = self.stderr.lines().filter(|line| line.starts_with("error"));
        errors.filter_map(|line| Some(line.split_once(": ")?.1)).collect()
    }

    /// One error of each kind. Several mistakes at once are of the kinds that other cases show.
    fn kinds(&self) -> Vec<&str> {
        let mut kinds = BTreeSet::new();
        let errors = self.errors().into_iter().filter(|error| kinds.insert(pattern(error)));
        errors.filter(|_| !name(&self.file).ends_with("_mistakes")).collect()
    }

    fn anchor(&self) -> String {
        let folder = self.file.parent().map(name).unwrap_or_default();
        format!("{folder}-{}", name(&self.file).replace('_', "-"))
    }

    fn section(&self) -> String {
        let (title, rule, source) = (self.title(), self.rule(), self.shown_source());
        let (anchor, stderr) = (self.anchor(), self.stderr.trim_end());
        format!("\n### <a id=\"{anchor}\"></a>{title}\n\n{rule}\n\n```rust\n{source}\n```\n\n```text\n{stderr}\n```\n")
    }

    /// The file's name as a person would write it.
    fn title(&self) -> String {
        let words = name(&self.file).replace('_', " ");
        words[..1].to_uppercase() + &words[1..]
    }

    /// The sentence that the case begins with, without the number of a report.
    fn rule(&self) -> String {
        let line = self.source.lines().next().and_then(|line| line.strip_prefix("//! "));
        let line = line.unwrap_or_else(|| panic!("{}: begin with `//!` and the rule", self.file.display()));
        let is_numbered = line.strip_prefix('S').is_some_and(|rest| rest.starts_with(char::is_numeric));
        let sentence = line.split_once(": ").filter(|_| is_numbered).map_or(line, |(_, rule)| rule);
        sentence[..1].to_uppercase() + &sentence[1..]
    }

    /// The parts between empty lines at which the compiler points.
    fn shown_source(&self) -> String {
        let lines: Vec<_> = self.source.lines().collect();
        let pointed = self.pointed_lines();
        let mut shown = Vec::new();
        let mut start = 0;
        for part in lines.split(|line| line.is_empty()) {
            let here = start..start + part.len();
            if pointed.iter().any(|line| here.contains(&(line - 1))) {
                shown.push(part.join("\n"));
            }
            start = here.end + 1;
        }
        shown.join("\n\n")
    }

    fn pointed_lines(&self) -> BTreeSet<usize> {
        let places = self.stderr.lines().filter_map(|line| line.trim_start().strip_prefix("--> tests/ui/"));
        places.filter_map(|place| place.split(':').nth(1)?.parse().ok()).collect()
    }
}

/// The Rust files of a folder, sorted.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|it| it == "rs")).collect();
    files.sort();
    files
}

fn name(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
