//! An event whose target can lead back to one of its sources: a late duplicate of a bare call would apply again.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "drafts", id(draft_id: i64), history)]
#[transition(submit: Draft => Review)]
#[transition(reject: Review => Draft)]
#[transition(remind: Review => Review)]
#[transition(approve: Review => Approved)]
enum DraftStatus {
    #[state(initial)]
    Draft,
    Review,
    #[state(terminal)]
    Approved,
}

use draft_status::{Approve, Reject, Remind, Submit};

async fn bare(idem: &Idem<sqlx::Sqlite>) {
    let _ = DraftStatus::row(1).fire(Submit).run(idem).await;
    let _ = DraftStatus::row(1).fire(Remind).run(idem).await;
}

async fn pinned(idem: &Idem<sqlx::Sqlite>, review: Row<DraftStatus, draft_status::Review>) {
    let _ = DraftStatus::row(1).fire(Submit).cause("request-1").run(idem).await;
    let _ = DraftStatus::row(1).fire(Remind).expect_version(3).run(idem).await;
    let _ = DraftStatus::row(1).fire(Remind).any_version().run(idem).await;
    let _ = DraftStatus::row(1).fire(Approve).run(idem).await;
    let _ = review.fire(Reject).run(idem).await;
}

fn main() {}
