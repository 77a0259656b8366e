use tokio::task::futures::TaskLocalFuture;

tokio::task_local! {
    /// The engines whose transactions the bodies hold that the current call is made from.
    static HELD: Vec<u64>;
}

/// Marks what a body does as done inside of it.
#[derive(Debug, Clone, Copy)]
pub struct Inside {
    engine: Option<u64>,
}

impl Inside {
    pub(crate) const fn new(engine: Option<u64>) -> Self {
        Self { engine }
    }

    pub(crate) fn is_inside(engine: u64) -> bool {
        HELD.try_with(|held| held.contains(&engine)).unwrap_or(false)
    }

    /// Runs a body.
    pub fn run<F: Future>(self, body: F) -> TaskLocalFuture<Vec<u64>, F> {
        let mut held = HELD.try_with(Clone::clone).unwrap_or_default();
        held.extend(self.engine);
        HELD.scope(held, body)
    }
}
