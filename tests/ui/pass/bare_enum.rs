//! An enum needs no other derive to be a machine.
use idem_runtime::prelude::*;
use order_status::ByState;

#[derive(StateMachine)]
#[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case", sqlx, display)]
#[transition(pay: Pending => Paid, set(trade_no: String))]
enum OrderStatus {
    #[state(initial, alias = "open")]
    Pending,
    #[state(terminal)]
    Paid,
}

async fn pay<DB: SqlDialect>(idem: &Idem<DB>, row: Row<OrderStatus>) -> Result<String, TransitionError> {
    let again = row.clone();
    assert!(row == again && row.state().name() == again.state().name());
    let event = || order_status::Pay { trade_no: "T1".to_owned() };
    Ok(match row.by_state() {
        ByState::Pending(row) => format!("{:?}", row.fire(event()).run(idem).await?.expect_applied()?),
        ByState::Paid(row) => format!("{:?}", row.any_state()),
    })
}

fn main() {
    assert!(OrderStatus::allows(OrderStatus::Pending, OrderStatus::Paid));
    let open: OrderStatus = "open".parse().unwrap_or(OrderStatus::Paid);
    assert_eq!((open.stored(), open.to_string()), ("pending", "pending".to_owned()));
    let _ = pay::<sqlx::Sqlite>;
}
