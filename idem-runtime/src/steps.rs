//! Named moments of the runtime, for tests that kill the process at each of them.

/// A moment between two statements, or between a statement and the answer to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A transaction was opened.
    Begun,
    /// The claim of an idempotent call was written.
    Claimed,
    /// The body has returned a result that is to be stored.
    BodyReturned,
    /// The result was written.
    Completed,
    /// The outermost transaction of an idempotent call was committed, or the result of a leased one; the caller has not heard
    /// of it.
    Committed,
    /// The history's entry was written by a statement of its own; the row has not moved.
    Entered,
    /// The row has moved.
    Moved,
    /// The claim of a leased call was committed.
    Leased,
    /// A call that was not heard of any more was taken over.
    TakenOver,
    /// It was committed that an outside call is about to be made.
    InDoubt,
    /// A transaction of an attempt has written its fence; it is not committed.
    Fenced,
    /// A transaction of an attempt was committed.
    TxCommitted,
}

impl Step {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Begun,
        Self::Claimed,
        Self::BodyReturned,
        Self::Completed,
        Self::Committed,
        Self::Entered,
        Self::Moved,
        Self::Leased,
        Self::TakenOver,
        Self::InDoubt,
        Self::Fenced,
        Self::TxCommitted,
    ];

    /// The step's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Claimed => "claimed",
            Self::BodyReturned => "body-returned",
            Self::Completed => "completed",
            Self::Committed => "committed",
            Self::Entered => "entered",
            Self::Moved => "moved",
            Self::Leased => "leased",
            Self::TakenOver => "taken-over",
            Self::InDoubt => "in-doubt",
            Self::Fenced => "fenced",
            Self::TxCommitted => "tx-committed",
        }
    }
}

#[cfg(feature = "__steps")]
static HOOK: std::sync::OnceLock<fn(Step)> = std::sync::OnceLock::new();

/// Calls `hook` at every step from now on; the first hook stays.
#[cfg(feature = "__steps")]
pub fn on_step(hook: fn(Step)) {
    let _ = HOOK.set(hook);
}

#[cfg(feature = "__steps")]
pub(crate) fn reached(step: Step) {
    if let Some(hook) = HOOK.get() {
        hook(step);
    }
}

#[cfg(not(feature = "__steps"))]
pub(crate) const fn reached(_: Step) {}
