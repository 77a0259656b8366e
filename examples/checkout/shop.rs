//! What the shop does with a purchase. This is where the layers come together; `buy` is to be read first.

use idem_runtime::prelude::*;
use idem_runtime::token::TokenError;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::layers::{Layer, Layers};
use crate::machine::OrderStatus;
use crate::machine::order_status::{New, Pay};
use crate::store::{Till, Value};

/// What the page's tokens are for.
const PAGE: &str = "checkout.page";

/// What a delivery asks for, wherever it comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Which cart is to be paid: what the purchase is, on every way that leads here.
    pub(crate) cart_id: i64,
    pub(crate) amount: i64,
    /// Whether it may make the cart's order. A message or a notice tells of one that is there.
    pub(crate) makes_order: bool,
    /// Which delivery it is, for the table alone.
    pub(crate) delivery_id: i64,
}

/// What only a request of the page has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FromPage<'p> {
    pub(crate) token: &'p str,
    pub(crate) user_id: i64,
    /// The same when a request is sent again, and another one for another click.
    pub(crate) request_id: i64,
}

/// What became of a delivery that came to the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Sale {
    /// It has paid the order, and the charge is booked.
    Charged(Uuid),
    /// It would have made a second order, and was given this one, which is paid: unique-while.
    HasOrder(Uuid),
    /// It would have paid the order a second time: compare-and-swap.
    WasPaid(Uuid),
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckoutError {
    /// A message or a notice has overtaken the purchase, and has to come again.
    #[error("cart {0} has no order yet")]
    NoOrder(i64),
    /// The page's token does not let it through.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// What idem answers for a call.
    #[error(transparent)]
    Idem(#[from] Error),
    /// The order was not made or did not move.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// One of the shop's own statements failed.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
}

/// The page is opened, and gets its token.
pub(crate) async fn open_page<DB: Till>(idem: &Idem<DB>, user_id: i64) -> Result<String, Error> {
    idem.tokens(PAGE).issue(&user_id).await
}

/// The page's request. The token comes before the claim, which would answer a second click as if it was the first; both are
/// in the transaction of the charge. `Again` goes on: whoever did not get his answer hears it from the claim.
pub(crate) async fn buy<DB: Till>(
    idem: &Idem<DB>,
    layers: &Layers,
    page: FromPage<'_>,
    wanted: Wanted,
) -> Result<Once<Sale>, CheckoutError> {
    let mut tx = idem.begin().await?;
    if layers.has(Layer::Token) {
        let token = idem.tokens(PAGE).consume(page.token, &page.user_id);
        token.request(&page.request_id).run(&mut tx).await?;
    }
    let sale = if layers.has(Layer::Claim) {
        // Inside of a transaction: the gate is not asked, as the token has asked the database already.
        settle_once(&mut *tx, layers, wanted).await?
    } else {
        settle(&mut tx, layers, wanted).await?.into()
    };
    tx.commit().await?;
    Ok(sale)
}

/// What comes by itself, and has no token: a call inside of the back end, a message, a notice of the provider. Almost all
/// of these are duplicates, and the gate has them looked up before anything is claimed.
pub(crate) async fn hear<DB: Till>(
    idem: &Idem<DB>,
    layers: &Layers,
    wanted: Wanted,
) -> Result<Once<Sale>, CheckoutError> {
    if layers.has(Layer::Claim) {
        return settle_once(idem, layers, wanted).await;
    }
    let mut tx = idem.begin().await?;
    let sale = settle(&mut tx, layers, wanted).await?;
    tx.commit().await?;
    Ok(sale.into())
}

/// The claim. Its key is the purchase, and no number of a request or a message: those differ from way to way.
#[idempotent(scope = "checkout.settle", key = wanted.cart_id, payload = wanted.amount)]
async fn settle_once<DB: Till>(
    tx: &mut Tx<'_, DB>,
    layers: &Layers,
    wanted: Wanted,
) -> Result<Once<Sale>, CheckoutError> {
    Ok(settle(tx, layers, wanted).await?.into())
}

async fn settle<DB: Till>(tx: &mut Tx<'_, DB>, layers: &Layers, wanted: Wanted) -> Result<Sale, CheckoutError> {
    if layers.has(Layer::Cas) { pay(tx, wanted).await } else { pay_blindly(tx, wanted).await }
}

/// Unique-while and compare-and-swap: the order moves, and the charge is booked only when this call has moved it.
async fn pay<DB: Till>(tx: &mut Tx<'_, DB>, wanted: Wanted) -> Result<Sale, CheckoutError> {
    let (order_id, is_second) = order(tx, wanted).await?;
    let payment_id = format!("P{}", wanted.cart_id);
    let pay = Pay { payment_id: payment_id.clone() };
    match OrderStatus::row(order_id).fire(pay).cause(&payment_id).run(&mut *tx).await? {
        Outcome::Applied(_) => {
            charge(tx, wanted).await?;
            Ok(Sale::Charged(order_id))
        }
        Outcome::Replayed(_) | Outcome::Already(_) if is_second => Ok(Sale::HasOrder(order_id)),
        Outcome::Replayed(_) | Outcome::Already(_) => Ok(Sale::WasPaid(order_id)),
    }
}

/// The cart's order, and whether it was there when another one was to be made.
async fn order<DB: Till>(tx: &mut Tx<'_, DB>, wanted: Wanted) -> Result<(Uuid, bool), CheckoutError> {
    let Wanted { cart_id, amount, makes_order, .. } = wanted;
    if !makes_order {
        let order_id = DB::order_of(tx, cart_id).await?.ok_or(CheckoutError::NoOrder(cart_id))?;
        return Ok((order_id, false));
    }
    let created = OrderStatus::create(New { order_id: Uuid::new_v4(), cart_id, amount }).run(&mut *tx).await?;
    let is_second = !created.is_new();
    Ok((*created.into_row().id(), is_second))
}

/// Without them: whatever has come so far makes an order, or pays those that are there, and is charged.
async fn pay_blindly<DB: Till>(tx: &mut Tx<'_, DB>, wanted: Wanted) -> Result<Sale, CheckoutError> {
    let (order_id, cart_id) = (Uuid::new_v4(), Value::Number(wanted.cart_id));
    if wanted.makes_order {
        let insert = "INSERT INTO orders (order_id, cart_id, amount, status) VALUES (?, ?, ?, 'paid')";
        DB::write(&mut *tx, insert, &[Value::Id(order_id), cart_id, Value::Number(wanted.amount)]).await?;
    } else if DB::write(&mut *tx, "UPDATE orders SET status = 'paid' WHERE cart_id = ?", &[cart_id]).await? == 0 {
        return Err(CheckoutError::NoOrder(wanted.cart_id));
    }
    charge(tx, wanted).await?;
    Ok(Sale::Charged(order_id))
}

/// Books the charge. Nothing in it asks whether it was done before.
async fn charge<DB: Till>(tx: &mut Tx<'_, DB>, wanted: Wanted) -> Result<(), CheckoutError> {
    let insert = "INSERT INTO charges (delivery_id, cart_id, amount) VALUES (?, ?, ?)";
    let values = [wanted.delivery_id, wanted.cart_id, wanted.amount].map(Value::Number);
    DB::write(tx, insert, &values).await?;
    Ok(())
}

impl CheckoutError {
    /// Whether its source delivers it again.
    pub(crate) fn comes_again(&self) -> bool {
        match self {
            Self::NoOrder(_) | Self::Sql(_) => true,
            Self::Token(error) => error.is_retryable(),
            Self::Idem(error) => error.is_retryable(),
            Self::Transition(error) => error.is_retryable(),
        }
    }
}
