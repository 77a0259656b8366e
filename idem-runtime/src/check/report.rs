use std::fmt;

/// What a check found.
#[must_use = "it may hold findings: call `.into_result()?`"]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    findings: Vec<Finding>,
    unchecked: Vec<Finding>,
    /// How many findings are a table or a column that is not there.
    missing: usize,
}

/// One thing that is wrong, or was not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The Rust item that it comes from: `OrderStatus, event pay, field trade_no`.
    pub item: String,
    /// What is wrong with it: ``column `trade_no` of `orders` does not exist``.
    pub fault: String,
}

impl Report {
    /// What is wrong.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What could not be checked, or not on this database.
    #[must_use]
    pub fn unchecked(&self) -> &[Finding] {
        &self.unchecked
    }

    /// Whether nothing is wrong, as far as it was checked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Fails with itself when something is wrong.
    ///
    /// # Errors
    ///
    /// The report, whose text is a line for each finding.
    pub fn into_result(self) -> Result<(), Self> {
        if self.is_empty() { Ok(()) } else { Err(self) }
    }

    pub(super) fn add(&mut self, item: &str, fault: String) {
        self.findings.push(Finding { item: item.to_owned(), fault });
    }

    /// Something is not there, for all that need it.
    pub(super) fn add_missing(&mut self, item: &str, what: &str) {
        self.missing += 1;
        self.add(item, format!("{what} does not exist"));
    }

    pub(super) fn missing(&self) -> usize {
        self.missing
    }

    /// Two statements of one item say the same.
    pub(super) fn add_once(&mut self, item: &str, fault: String) {
        let finding = Finding { item: item.to_owned(), fault };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    pub(super) fn skip(&mut self, item: &str, what: &str) {
        self.unchecked.push(Finding { item: item.to_owned(), fault: what.to_owned() });
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.item, self.fault)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for unchecked in &self.unchecked {
            writeln!(f, "not checked: {unchecked}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}
