use std::time::{Duration, Instant};

use sqlx::Execute;

use super::Idem;
use crate::dialect::SqlDialect;
use crate::error::Error;
use crate::tx::Answer;

/// The patience with a statement that its caller asks again himself.
pub(crate) const UNTIL_NOW: Duration = Duration::ZERO;

/// The pauses between tries, while the database is away.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
];

impl<DB: SqlDialect> Idem<DB> {
    /// Runs a statement that commits by itself. One whose answer was lost, or which the database gave up, is asked again
    /// on another connection for as long as the patience lasts: it may run twice. Once an answer was lost, no error of a
    /// later try says that nothing was done.
    pub(crate) async fn ask_alone<'q, Q>(
        &self,
        patience: Duration,
        query: impl Fn() -> Result<Q, sqlx::Error>,
    ) -> Result<Answer<DB>, Error>
    where
        Q: Execute<'q, DB> + 'q,
    {
        let end = Instant::now() + patience;
        let (mut tries, mut lost) = (0, None);
        loop {
            let query = query().map_err(Error::Database)?;
            match self.try_alone(query).await {
                Err(error) if error.is_retryable() && Instant::now() < end => {
                    tokio::time::sleep(PAUSES[tries.min(PAUSES.len() - 1)]).await;
                    tries += 1;
                    lost = lost.or(Some(error).filter(|error| matches!(error, Error::UnknownCommit(_))));
                }
                answer => return answer.map_err(|error| lost.unwrap_or(error)),
            }
        }
    }

    async fn try_alone<'q>(&self, query: impl Execute<'q, DB> + 'q) -> Result<Answer<DB>, Error> {
        let _turn = self.writers_turn().await?;
        self.acquire().await?.ask(query).await.map_err(Error::commit::<DB>)
    }
}
