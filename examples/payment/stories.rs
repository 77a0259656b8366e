//! What happens to orders in the real world. Each story tells what the channel sends and, beside it and written by
//! hand, what must hold in the end: whatever arrived first, and however often.

use crate::callbacks::{Fate, ShopAction};
use crate::generate::Maker;
use crate::money::Money;

/// Writes what happens to one order, or to a pair of orders.
type Story = fn(&mut Maker);

/// The stories, and how often each happens.
pub(crate) const STORIES: &[(usize, Story)] = &[
    (10, paid),
    (6, finished_after_success),
    (6, finished_alone),
    (6, shipped),
    (4, shipped_and_finished),
    (6, refunded_in_parts),
    (4, refunded_in_parts_then_whole),
    (8, refunded),
    (4, refunded_while_shipping),
    (5, never_paid),
    (4, paid_by_a_second_trade),
    (4, paid_after_the_close),
    (5, paid_twice),
    (4, paid_again_after_the_refund),
    (3, one_trade_for_two_orders),
    (4, cancelled_then_paid),
    (5, cancelled_or_paid),
    (4, wrong_amount),
    (3, wrong_amount_then_right),
    (4, unknown_order),
    (3, in_demand),
];

fn paid(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let trade = maker.trade(&order, price);
    maker.waiting(&trade);
    maker.success(&trade);
    maker.expect("paid", &order, &["paid"], 1..=1, vec![trade.is(Fate::Charged)]);
}

/// Two messages about one trade: the second is no second payment.
fn finished_after_success(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let trade = maker.trade(&order, price);
    maker.success(&trade);
    maker.finished(&trade);
    maker.expect("TRADE_FINISHED after TRADE_SUCCESS", &order, &["paid"], 1..=1, vec![trade.is(Fate::Charged)]);
}

/// Products without refunds report success as finished at once.
fn finished_alone(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let trade = maker.trade(&order, price);
    maker.waiting(&trade);
    maker.finished(&trade);
    maker.expect("TRADE_FINISHED alone", &order, &["paid"], 1..=1, vec![trade.is(Fate::Charged)]);
}

/// Late duplicates meet an order that has left the house.
fn shipped(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, Some(ShopAction::Ship));
    let trade = maker.trade(&order, price);
    maker.success(&trade);
    maker.finished(&trade);
    maker.expect("late duplicates after shipping", &order, &["shipped"], 1..=1, vec![trade.is(Fate::Charged)]);
}

fn shipped_and_finished(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, Some(ShopAction::ShipAndFinish));
    let trade = maker.trade(&order, price);
    maker.success(&trade);
    maker.finished(&trade);
    maker.expect("late duplicates after the end", &order, &["done"], 1..=1, vec![trade.is(Fate::Charged)]);
}

/// The second part may arrive first: it tells the sum of both.
fn refunded_in_parts(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let trade = maker.trade(&order, price);
    let (tenth, half) = (Money(price.0 / 10), Money(price.0 / 2));
    maker.success(&trade);
    maker.part_back(&trade, tenth);
    maker.part_back(&trade, half);
    let trade = trade.is(Fate::Charged).refunded(half, 2);
    maker.expect("two partial refunds", &order, &["paid"], 1..=1, vec![trade]);
}

fn refunded_in_parts_then_whole(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let trade = maker.trade(&order, price);
    maker.success(&trade);
    maker.part_back(&trade, Money(price.0 / 10));
    maker.all_back(&trade);
    let trade = trade.is(Fate::Charged).refunded(price, 1);
    maker.expect("a partial refund, then the rest", &order, &["refunded"], 1..=1, vec![trade]);
}

/// The refund may overtake the payment.
fn refunded(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let trade = maker.trade(&order, price);
    maker.success(&trade);
    maker.all_back(&trade);
    let trade = trade.is(Fate::Charged).refunded(price, 0);
    maker.expect("TRADE_CLOSED as a full refund", &order, &["refunded"], 1..=1, vec![trade]);
}

/// Whether it was shipped or not: what is refunded ends refunded.
fn refunded_while_shipping(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, Some(ShopAction::Ship));
    let trade = maker.trade(&order, price);
    maker.success(&trade);
    maker.all_back(&trade);
    let trade = trade.is(Fate::Charged).refunded(price, 0);
    maker.expect("a full refund while shipping", &order, &["refunded"], 1..=1, vec![trade]);
}

fn never_paid(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let trade = maker.trade(&order, price);
    maker.waiting(&trade);
    maker.closed(&trade);
    maker.expect("closed unpaid", &order, &["pending"], 0..=0, vec![trade.is(Fate::Unpaid)]);
}

fn paid_by_a_second_trade(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let first = maker.trade(&order, price);
    maker.waiting(&first);
    maker.closed(&first);
    let second = maker.trade(&order, price);
    maker.waiting(&second);
    maker.success(&second);
    let trades = vec![first.is(Fate::Unpaid), second.is(Fate::Charged)];
    maker.expect("a second trade after the first was closed", &order, &["paid"], 1..=1, trades);
}

/// Success and close come out of order: money that came counts.
fn paid_after_the_close(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let trade = maker.trade(&order, price);
    maker.waiting(&trade);
    maker.closed(&trade);
    maker.success(&trade);
    maker.expect("success and close out of order", &order, &["paid"], 1..=1, vec![trade.is(Fate::Charged)]);
}

/// Either trade may win; the other one's money goes back.
fn paid_twice(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let (one, other) = (maker.trade(&order, price), maker.trade(&order, price));
    maker.success(&one);
    maker.success(&other);
    maker.finished(&one);
    maker.finished(&other);
    let trades = vec![one.is(Fate::Either), other.is(Fate::Either)];
    maker.expect("two trades for one order", &order, &["paid"], 1..=1, trades);
}

/// The order cannot be paid again once it is refunded. If the second trade is faster it pays, and the first one's money
/// is set aside before it goes back.
fn paid_again_after_the_refund(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let first = maker.trade(&order, price);
    maker.success(&first);
    maker.all_back(&first);
    let second = maker.trade(&order, price);
    maker.success(&second);
    let trades = vec![first.is(Fate::Either).refunded(price, 0), second.is(Fate::Either)];
    maker.expect("paid again after the refund", &order, &["refunded", "paid"], 1..=1, trades);
}

/// The channel mixes up two orders of one price: whichever notification is first, the money counts once.
fn one_trade_for_two_orders(maker: &mut Maker) {
    let price = maker.price();
    let (one, other) = (maker.order(price, None), maker.order(price, None));
    let trade = maker.trade(&one, price);
    let mut mixed_up = trade.clone();
    mixed_up.order.clone_from(&other);
    maker.success(&trade);
    maker.success(&mixed_up);
    let ends = ["paid", "pending"];
    maker.expect("one trade for two orders", &one, &ends, 0..=1, vec![trade.is(Fate::Charged)]);
    maker.expect("one trade for two orders", &other, &ends, 0..=1, Vec::new());
}

fn cancelled_then_paid(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, Some(ShopAction::CancelFirst));
    let trade = maker.trade(&order, price);
    maker.success(&trade);
    maker.all_back(&trade);
    let trade = trade.is(Fate::SetAside).refunded(price, 0);
    maker.expect("a cancelled order is paid", &order, &["cancelled"], 0..=0, vec![trade]);
}

fn cancelled_or_paid(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, Some(ShopAction::Cancel));
    let trade = maker.trade(&order, price);
    maker.success(&trade);
    maker.finished(&trade);
    let trades = vec![trade.is(Fate::Either)];
    maker.expect("cancelled while it is paid", &order, &["cancelled", "paid"], 0..=1, trades);
}

fn wrong_amount(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let trade = maker.trade(&order, Money(price.0 - 100));
    maker.success(&trade);
    maker.finished(&trade);
    maker.expect("another amount", &order, &["pending"], 0..=0, vec![trade.is(Fate::SetAside)]);
}

fn wrong_amount_then_right(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, None);
    let wrong = maker.trade(&order, Money(price.0 - 1));
    maker.success(&wrong);
    let right = maker.trade(&order, price);
    maker.success(&right);
    let trades = vec![wrong.is(Fate::SetAside), right.is(Fate::Charged)];
    maker.expect("another amount, then the right one", &order, &["paid"], 1..=1, trades);
}

fn unknown_order(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order_number();
    let trade = maker.trade(&order, price);
    maker.success(&trade);
    maker.finished(&trade);
    maker.expect("an order that does not exist", &order, &[], 0..=0, vec![trade.is(Fate::SetAside)]);
}

/// Many messages about one order at the same time.
fn in_demand(maker: &mut Maker) {
    let price = maker.price();
    let order = maker.order(price, Some(ShopAction::Ship));
    let (one, other) = (maker.trade(&order, price), maker.trade(&order, price));
    for trade in [&one, &other, &one, &other] {
        maker.success(trade);
        maker.waiting(trade);
        maker.finished(trade);
    }
    let trades = vec![one.is(Fate::Either), other.is(Fate::Either)];
    maker.expect("two trades, told of many times", &order, &["shipped"], 1..=1, trades);
}
