//! The way to the shop: two instances of the service, and many purchases at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::try_join_all;
use idem_runtime::gate::{self, GateCounts};
use idem_runtime::prelude::*;
use idem_runtime::token::TokenError;

use crate::layers::{Layer, Layers};
use crate::luck::Luck;
use crate::shop::{self, CheckoutError, FromPage, Sale, Wanted};
use crate::sources::{Delivery, Moment, Purchase, Source};
use crate::store::Till;
use crate::table::Fate;

/// How often a source delivers what it is told to deliver again.
const TRIES: u32 = 1_000;

/// The instances of the service: each has a pool, a gate and calls under way of its own.
pub(crate) struct Shop<DB: Till> {
    pub(crate) instances: [Idem<DB>; 2],
    pub(crate) layers: Layers,
}

/// What the user has before him.
struct Page {
    token: String,
    is_grey: AtomicBool,
}

/// Delivers everything that belongs to the purchases, so many of them at once; gives what became of each delivery.
pub(crate) async fn deliver<DB: Till>(
    shop: Shop<DB>,
    purchases: Vec<Purchase>,
    workers: u16,
) -> Result<Vec<(Delivery, Fate)>, CheckoutError> {
    let (shop, purchases, next) = (Arc::new(shop), Arc::new(purchases), Arc::<AtomicUsize>::default());
    let work = || tokio::spawn(work(Arc::clone(&shop), Arc::clone(&purchases), Arc::clone(&next)));
    let workers: Vec<_> = (0..workers).map(|_| work()).collect();
    let mut fates = Vec::new();
    for worker in workers {
        // A worker that panicked must not pass for one that had nothing to do.
        fates.extend(worker.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?);
    }
    Ok(fates)
}

/// Plays one purchase after another.
async fn work<DB: Till>(
    shop: Arc<Shop<DB>>,
    purchases: Arc<Vec<Purchase>>,
    next: Arc<AtomicUsize>,
) -> Result<Vec<(Delivery, Fate)>, CheckoutError> {
    let mut fates = Vec::new();
    while let Some(purchase) = purchases.get(next.fetch_add(1, Ordering::Relaxed)) {
        fates.extend(shop.play(purchase).await?);
    }
    Ok(fates)
}

impl<DB: Till> Shop<DB> {
    /// Delivers all that belongs to one purchase.
    async fn play(&self, purchase: &Purchase) -> Result<Vec<(Delivery, Fate)>, CheckoutError> {
        let token = shop::open_page(&self.instances[0], purchase.user_id).await?;
        let page = Page { token, is_grey: AtomicBool::new(false) };
        let at = |moment| purchase.deliveries.iter().filter(move |it| it.moment == moment);
        let mut fates = Vec::new();
        for moment in [Moment::AtOnce, Moment::Soon] {
            fates.extend(try_join_all(at(moment).map(|it| self.deliver(it, &page, purchase))).await?);
        }
        for late in at(Moment::Late) {
            fates.push(self.deliver(late, &page, purchase).await?);
        }
        Ok(fates)
    }

    /// Delivers it until there is an answer that is none for later.
    async fn deliver(
        &self,
        delivery: &Delivery,
        page: &Page,
        purchase: &Purchase,
    ) -> Result<(Delivery, Fate), CheckoutError> {
        if self.layers.has(Layer::Button) && page.stops(delivery) {
            return Ok((*delivery, Fate::Button));
        }
        let luck = delivery.is_cut_after.map_or(Luck::Good, Luck::HungUp);
        for tries in 1.. {
            let (answer, met) = gate::counting(luck.hears(self.receive(delivery, page, purchase))).await;
            match answer {
                None => return Ok((*delivery, Fate::RolledBack)),
                Some(Ok(sale)) => return Ok((*delivery, fate(sale, met))),
                Some(Err(CheckoutError::Token(TokenError::Used))) => return Ok((*delivery, Fate::Token)),
                Some(Err(error)) if !error.comes_again() || tries == TRIES => return Err(error),
                Some(Err(_)) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
        unreachable!("the last try ends")
    }

    /// The shop's doors: one for the page, and one for what comes by itself.
    async fn receive(
        &self,
        delivery: &Delivery,
        page: &Page,
        purchase: &Purchase,
    ) -> Result<Once<Sale>, CheckoutError> {
        let Delivery { source, request_id, instance, id: delivery_id, .. } = *delivery;
        let Purchase { cart_id, user_id, amount, .. } = *purchase;
        let (idem, wanted) =
            (&self.instances[instance], Wanted { cart_id, amount, makes_order: source.makes_order(), delivery_id });
        if source.is_from_page() {
            shop::buy(idem, &self.layers, FromPage { token: &page.token, user_id, request_id }, wanted).await
        } else {
            shop::hear(idem, &self.layers, wanted).await
        }
    }
}

impl Page {
    /// The button: pressed once, it is grey. Nobody is bound to use it.
    fn stops(&self, delivery: &Delivery) -> bool {
        match delivery.source {
            Source::Click => self.is_grey.swap(true, Ordering::Relaxed),
            _ => !delivery.is_past_button && self.is_grey.load(Ordering::Relaxed),
        }
    }
}

/// A replay belongs to the gate when the call was looked up because of it, and to the claim otherwise.
fn fate(sale: Once<Sale>, met: GateCounts) -> Fate {
    let was_looked_up = met.ended > met.false_hints;
    match (sale.is_replay(), *sale) {
        (true, _) if was_looked_up => Fate::Gate,
        (true, _) => Fate::Claim,
        (false, Sale::Charged(_)) => Fate::Charged,
        (false, Sale::HasOrder(_)) => Fate::UniqueWhile,
        (false, Sale::WasPaid(_)) => Fate::Cas,
    }
}
