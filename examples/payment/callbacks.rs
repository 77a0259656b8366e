//! The files of this folder: what the channel sends, what the shop sells, and what must hold in the end.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::money::Money;

/// One asynchronous notification, with the field names that Alipay documents. A line of `callbacks.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notification {
    /// The notification's own number: the same when the channel pushes it again.
    pub(crate) notify_id: String,
    /// When it was pushed: another time at each push.
    pub(crate) notify_time: String,
    /// The channel's number of the trade: what moves the money.
    pub(crate) trade_no: String,
    /// The shop's number of the order.
    pub(crate) out_trade_no: String,
    /// What the channel says about the trade.
    pub(crate) trade_status: TradeStatus,
    /// The amount of the trade.
    pub(crate) total_amount: Money,
    /// When the buyer paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gmt_payment: Option<String>,
    /// How much of the trade was given back so far, this refund included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refund_fee: Option<Money>,
    /// When it was given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gmt_refund: Option<String>,
}

/// The state of a trade, in the channel's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum TradeStatus {
    /// The trade is open, and nobody has paid.
    WaitBuyerPay,
    /// The money is there. Sent again for a partial refund, then with `refund_fee`.
    TradeSuccess,
    /// Closed unpaid; or, with `refund_fee`, everything was given back.
    TradeClosed,
    /// The money is there, and the time for refunds is over.
    TradeFinished,
}

/// An order of the shop. A line of `orders.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OrderLine {
    /// Its number.
    pub(crate) out_trade_no: String,
    /// What it costs.
    pub(crate) amount: Money,
    /// What the shop does with it while notifications arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shop: Option<ShopAction>,
}

/// What the shop itself does with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShopAction {
    /// Cancels it before the first notification.
    CancelFirst,
    /// Cancels it at some moment, unless it is paid by then.
    Cancel,
    /// Ships it once it is paid.
    Ship,
    /// Ships it once it is paid, then finishes it.
    ShipAndFinish,
}

/// What must hold for an order in the end, whatever arrived first. A line of `expected.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Expected {
    /// The order's number.
    pub(crate) out_trade_no: String,
    /// What happens to it, in a few words.
    pub(crate) story: String,
    /// The states in which it may end; none when there is no such order.
    pub(crate) end: Vec<String>,
    /// At least so many trades charge it.
    pub(crate) min_charges: i64,
    /// At most so many trades charge it.
    pub(crate) max_charges: i64,
    /// Its trades.
    pub(crate) trades: Vec<ExpectedTrade>,
}

/// What must hold for a trade in the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExpectedTrade {
    /// The trade's number.
    pub(crate) trade_no: String,
    /// What becomes of its money.
    pub(crate) fate: Fate,
    /// The money.
    pub(crate) amount: Money,
    /// How much of it the channel gave back in the end.
    pub(crate) refunded: Money,
    /// How many partial refunds the channel told of: the buyer gets a goodwill for each.
    pub(crate) partial_refunds: i64,
}

/// What becomes of a trade's money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    /// It never comes.
    Unpaid,
    /// It pays an order.
    Charged,
    /// No order takes it.
    SetAside,
    /// It pays the order or is set aside, as the race ends.
    Either,
}

/// Reads one of the files, an entry a line.
///
/// # Errors
///
/// When the file cannot be read or a line does not parse.
pub(crate) fn read<T: DeserializeOwned>(name: &str) -> io::Result<Vec<T>> {
    let text = std::fs::read_to_string(folder().join(name))?;
    text.lines().map(|line| serde_json::from_str(line).map_err(io::Error::other)).collect()
}

/// Where the files are.
#[must_use]
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/payment")
}
