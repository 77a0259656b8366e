use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryFutureExt as _};
use sqlx::error::BoxDynError;
use sqlx::{Database, Execute, Executor, SqlStr, Statement as _};

use super::screen::{self, Effect};
use super::{Health, Refused, Root, Tx};
use crate::dialect::{Class, Many, SqlDialect};

/// A statement of the user after its text was looked at; looking at it takes it apart.
struct Screened<DB: Database> {
    sql: SqlStr,
    statement: Option<DB::Statement>,
    arguments: Option<Result<Option<DB::Arguments>, BoxDynError>>,
    persistent: bool,
}

impl<DB: Database> Screened<DB> {
    fn new<'q>(mut query: impl Execute<'q, DB>) -> Self {
        let arguments = Some(query.take_arguments());
        let persistent = query.persistent();
        let statement = query.statement().cloned();
        let sql = statement.as_ref().map_or_else(|| query.sql(), |statement| statement.sql().clone());
        Self { sql, statement, arguments, persistent }
    }
}

impl<DB: Database> Execute<'_, DB> for Screened<DB> {
    fn sql(self) -> SqlStr {
        self.sql
    }

    fn statement(&self) -> Option<&DB::Statement> {
        self.statement.as_ref()
    }

    fn take_arguments(&mut self) -> Result<Option<DB::Arguments>, BoxDynError> {
        self.arguments.take().unwrap_or(Ok(None))
    }

    fn persistent(&self) -> bool {
        self.persistent
    }
}

/// The end of a statement of the runtime: its only row, if it gave one, and what the driver says of it.
pub(crate) struct Answer<DB: Database> {
    pub(crate) row: Option<DB::Row>,
    pub(crate) done: DB::QueryResult,
}

impl<DB: SqlDialect> Answer<DB> {
    pub(crate) fn rows_affected(&self) -> u64 {
        DB::rows_affected(&self.done)
    }
}

impl<DB: SqlDialect> Root<DB> {
    /// Runs a statement of the runtime, after what has to come before it.
    pub(crate) async fn ask<'q>(&mut self, query: impl Execute<'q, DB> + 'q) -> Result<Answer<DB>, sqlx::Error> {
        self.ready().await?;
        self.ask_on(query).await
    }

    async fn ready(&mut self) -> Result<(), sqlx::Error> {
        self.settle().await?;
        match &self.health {
            // The server would say no more than that something failed before.
            Health::Failed(why) => Err(why.clone().into()),
            _ => Ok(()),
        }
    }

    /// Runs the second statement of an effect, whatever the first one left.
    pub(crate) async fn ask_on<'q>(&mut self, query: impl Execute<'q, DB> + 'q) -> Result<Answer<DB>, sqlx::Error> {
        let answer = self.lent.ask(query).await;
        self.health.note::<DB, _>(&answer);
        answer
    }

    /// Like [`ask`](Self::ask), for all rows of the answer.
    pub(crate) async fn ask_rows<'q>(&mut self, query: impl Execute<'q, DB> + 'q) -> Result<Vec<DB::Row>, sqlx::Error> {
        self.ready().await?;
        let rows = self.lent.rows(query).await;
        self.health.note::<DB, _>(&rows);
        rows
    }

    /// Keeps the connection from going back to its pool once the transaction is over.
    pub(crate) fn distrust(&mut self) {
        self.lent.distrust();
    }

    /// Runs a statement that may wait for a lock for so long only. A lock that was not granted leaves a rollback to the
    /// savepoint before it as the only way on: where the timeout ended the transaction, the savepoint is gone with it.
    pub(crate) async fn ask_for_lock<'q>(
        &mut self,
        query: impl Execute<'q, DB> + 'q,
    ) -> Result<Answer<DB>, sqlx::Error> {
        self.ready().await?;
        let answer = self.lent.ask(query).await;
        match &answer {
            Err(error) if DB::classify(error) == Class::LockTimeout => {
                self.health = Health::Failed(Refused::because::<DB>(error));
            }
            _ => self.health.note::<DB, _>(&answer),
        }
        answer
    }

    /// Refuses a statement of the user that would end the transaction.
    async fn admit(&mut self, sql: &SqlStr) -> Result<(), sqlx::Error> {
        self.settle().await?;
        match screen::effect(DB::DIALECT, sql.as_str()) {
            Effect::Stays => Ok(()),
            Effect::Unknown => {
                self.unseen = true;
                Ok(())
            }
            Effect::Ends => Err(Refused::statement(sql.as_str()).into()),
        }
    }
}

impl<'x, DB: SqlDialect> Executor<'x> for &'x mut Tx<'_, DB> {
    type Database = DB;

    fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> Many<'e, DB>
    where
        'x: 'e,
        E: 'q + Execute<'q, DB>,
    {
        let query = Screened::new(query);
        let root = self.root();
        async move {
            root.admit(&query.sql).await?;
            let Root { lent, health, .. } = root;
            Ok(lent.fetch_many(query).inspect(|step| health.note::<DB, _>(step)))
        }
        .try_flatten_stream()
        .boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<DB::Row>, sqlx::Error>>
    where
        'x: 'e,
        E: 'q + Execute<'q, DB>,
    {
        let query = Screened::new(query);
        let root = self.root();
        Box::pin(async move {
            root.admit(&query.sql).await?;
            let row = root.lent.fetch_optional(query).await;
            root.health.note::<DB, _>(&row);
            row
        })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [DB::TypeInfo],
    ) -> BoxFuture<'e, Result<DB::Statement, sqlx::Error>>
    where
        'x: 'e,
    {
        let root = self.root();
        Box::pin(async move {
            root.settle().await?;
            let prepared =
                root.lent.watch(async |connection| DB::prepare_with(connection, sql, parameters).await).await;
            root.health.note_error::<DB, _>(&prepared);
            prepared
        })
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<sqlx::Describe<DB>, sqlx::Error>>
    where
        'x: 'e,
    {
        let root = self.root();
        Box::pin(async move {
            root.settle().await?;
            let described = root.lent.watch(async |connection| DB::describe(connection, sql).await).await;
            root.health.note_error::<DB, _>(&described);
            described
        })
    }
}
