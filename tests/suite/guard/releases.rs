//! The order in which a release changes an edge or a state: the guard is widened first and narrowed last.

use idem_runtime::machine::{Guard, Refused};
use idem_runtime::prelude::*;
use idem_runtime::schema;

use super::{attempt, install, refused};
use crate::answers::answer;
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine};

/// Adds the tests.
pub(super) fn add(suite: &mut Suite) {
    on_every_engine!(
        suite,
        [an_edge_is_added_and_removed, a_state_is_added, the_same_transitions_written_otherwise_are_the_same_guard]
    );
}

/// A parcel as the first release has it.
pub(crate) mod old {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "parcels", id(parcel_id: i64), history, rename_all = "snake_case")]
    #[transition(send:    Packed => Sent)]
    #[transition(deliver: Sent   => Delivered)]
    pub(crate) enum Parcel {
        #[state(initial)]
        Packed,
        Sent,
        #[state(terminal)]
        Delivered,
    }
}

/// The same with an edge more: the customer comes to fetch it.
pub(crate) mod wide {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "parcels", id(parcel_id: i64), history, rename_all = "snake_case")]
    #[transition(send:    Packed        => Sent)]
    #[transition(deliver: Sent | Packed => Delivered)]
    pub(crate) enum Parcel {
        #[state(initial)]
        Packed,
        Sent,
        #[state(terminal)]
        Delivered,
    }
}

/// The same with a state more.
mod lost {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "parcels", id(parcel_id: i64), history, rename_all = "snake_case")]
    #[transition(send:    Packed        => Sent)]
    #[transition(deliver: Sent | Packed => Delivered)]
    #[transition(lose:    Sent          => Lost)]
    pub(super) enum Parcel {
        #[state(initial)]
        Packed,
        Sent,
        #[state(terminal)]
        Delivered,
        #[state(terminal)]
        Lost,
    }
}

/// The first release in another order, with its one edge under two names.
mod shuffled {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "parcels", id(parcel_id: i64))]
    #[transition(hand_over: Underway => Arrived)]
    #[transition(leave:     Ready    => Underway)]
    #[transition(go:        Ready    => Underway)]
    pub(super) enum Parcel {
        #[state(terminal, rename = "delivered")]
        Arrived,
        #[state(rename = "sent")]
        Underway,
        #[state(initial, rename = "packed")]
        Ready,
    }
}

async fn parcels<DB: Engine>(db: &TestDb<DB>, number: i64) -> TestResult {
    let columns = schema::columns::<old::Parcel>(DB::DIALECT);
    db.execute(format!("CREATE TABLE parcels (parcel_id BIGINT NOT NULL PRIMARY KEY, {columns})")).await?;
    db.execute(schema::history::<old::Parcel>(DB::DIALECT).ok_or("a history")?).await?;
    install::<old::Parcel, DB>(db).await?;
    for parcel_id in 1..=number {
        db.execute(format!("INSERT INTO parcels (parcel_id) VALUES ({parcel_id})")).await?;
    }
    Ok(())
}

async fn row<DB: Engine>(db: &TestDb<DB>, parcel_id: i64) -> Result<String, BoxError> {
    let entries = format!("(SELECT COUNT(*) FROM parcels_history WHERE parcel_id = {parcel_id})");
    let rows = db.rows(format!("SELECT status, version, {entries} FROM parcels WHERE parcel_id = {parcel_id}")).await?;
    Ok(rows.concat().join(" "))
}

async fn an_edge_is_added_and_removed<DB: Engine>(db: TestDb<DB>) -> TestResult {
    parcels(&db, 6).await?;
    let idem = db.idem(2).await?;

    // The new release before its guard: refused by name, and nothing is written.
    let early = wide::Parcel::row(1).fire(wide::parcel::Deliver).run(&idem).await;
    let name = old::Parcel::SQL.guard.of(DB::DIALECT).name;
    answer!(&early, Err(TransitionError::Guarded { guard, .. }) if guard == name);
    answer!(early.as_ref().map_err(TransitionError::reply), Err(Reply::Resend));
    let mut tx = idem.begin().await?;
    answer!(wide::Parcel::row(1).fire(wide::parcel::Deliver).run(&mut *tx).await, Err(TransitionError::Guarded { .. }));
    ensure!(tx.commit().await.is_err(), "half of a move is not committed");
    ensure!(row(&db, 1).await? == "packed 0 0", "nothing is written");
    ensure!(idem.guard::<wide::Parcel>().await? == Guard::Outdated, "which the doctor would have said");

    // Widen the guard, then deploy: both releases run side by side, and a roll-back needs nothing.
    install::<wide::Parcel, DB>(&db).await?;
    answer!(wide::Parcel::row(1).fire(wide::parcel::Deliver).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(old::Parcel::row(2).fire(old::parcel::Send).run(&idem).await, Ok(Outcome::Applied(_)));
    ensure!(idem.guard::<old::Parcel>().await? == Guard::Outdated, "a warning for whoever still runs");
    ensure!(idem.guard::<wide::Parcel>().await? == Guard::Installed, "the new one");

    // To remove the edge: deploy without it, then narrow the guard.
    answer!(wide::Parcel::row(3).fire(wide::parcel::Deliver).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(old::Parcel::row(4).fire(old::parcel::Deliver).run(&idem).await, Err(TransitionError::Illegal { .. }));
    install::<old::Parcel, DB>(&db).await?;
    answer!(wide::Parcel::row(5).fire(wide::parcel::Deliver).run(&idem).await, Err(TransitionError::Guarded { .. }));
    let raw = "UPDATE parcels SET status = 'delivered' WHERE parcel_id = 5".to_owned();
    refused::<old::Parcel, DB>(&attempt(&idem, raw).await?, Refused::Transition)?;
    // Rows that went along the edge while there was one stay where they are.
    answer!(old::Parcel::row(1).load(&idem).await, Ok(row) if row.state() == old::Parcel::Delivered);
    Ok(())
}

async fn a_state_is_added<DB: Engine>(db: TestDb<DB>) -> TestResult {
    parcels(&db, 3).await?;
    let idem = db.idem(2).await?;
    let send = async |parcel_id| old::Parcel::row(parcel_id).fire(old::parcel::Send).run(&idem).await;
    for parcel_id in 1..=3 {
        answer!(send(parcel_id).await, Ok(Outcome::Applied(_)));
    }
    let lose = async |parcel_id| lost::Parcel::row(parcel_id).fire(lost::parcel::Lose).run(&idem).await;
    if let Some(widen) = schema::widen::<lost::Parcel>(DB::DIALECT) {
        answer!(lose(1).await, Err(TransitionError::Database(_)));
        db.execute(widen).await?;
    }
    answer!(lose(1).await, Err(TransitionError::Guarded { .. }));
    install::<lost::Parcel, DB>(&db).await?;
    answer!(lose(1).await, Ok(Outcome::Applied(row)) if row.version() == 2);
    ensure!(row(&db, 1).await? == "lost 2 2", "as declared");
    answer!(old::Parcel::row(2).fire(old::parcel::Deliver).run(&idem).await, Ok(Outcome::Applied(_)));
    answer!(old::Parcel::row(1).load(&idem).await, Err(TransitionError::UnknownState { .. }));
    Ok(())
}

async fn the_same_transitions_written_otherwise_are_the_same_guard<DB: Engine>(db: TestDb<DB>) -> TestResult {
    parcels(&db, 1).await?;
    let idem = db.idem(2).await?;
    ensure!(idem.guard::<shuffled::Parcel>().await? == Guard::Installed, "no order and no name of an event counts");
    let names = [old::Parcel::SQL, wide::Parcel::SQL, lost::Parcel::SQL].map(|sql| sql.guard.of(DB::DIALECT).name);
    ensure!(names[0] != names[1] && names[1] != names[2], "an edge and a state do: {names:?}");
    Ok(())
}
