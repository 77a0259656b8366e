//! S63: neither do they when the table is missing.

use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(id(order_id: i64), history)]
#[transition(pay: Pending => Paid, set(trade_no: String))]
#[transition(ship: Paid => Shipped)]
enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
    #[state(terminal)]
    Shipped,
}

async fn five_uses(idem: &Idem<sqlx::Sqlite>) -> Result<(), TransitionError> {
    let row = OrderStatus::row(1).load(idem).await?;
    let pending: Row<OrderStatus, order_status::Pending> = row.in_state()?;
    let paid: Row<OrderStatus, order_status::Paid> =
        pending.fire(order_status::Pay { trade_no: "t".to_owned() }).cause("t").run(idem).await?.expect_applied()?;
    let _ = OrderStatus::row(1).fire(order_status::Ship).cause("t").run(idem).await?;
    println!("{} {:?}", OrderStatus::TABLE, paid.state().stored());
    Ok(())
}

const _: () = assert!(OrderStatus::allows(OrderStatus::Pending, OrderStatus::Paid));

fn main() {
    drop(five_uses);
}
