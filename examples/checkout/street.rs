//! The way to the shop: two instances of the service, and many purchases at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
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

/// How long it waits before it does. It would be seconds if anybody had to wait for the example.
const PAUSE: Duration = Duration::from_millis(2);

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

/// Delivers everything that belongs to the purchases, so many of them at once; gives what became of each
/// delivery that was answered.
pub(crate) async fn deliver<DB: Till>(
    shop: Shop<DB>,
    purchases: Vec<Purchase>,
    workers: u16,
) -> Result<Vec<(Delivery, Fate)>, Error> {
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
) -> Result<Vec<(Delivery, Fate)>, Error> {
    let mut fates = Vec::new();
    while let Some(purchase) = purchases.get(next.fetch_add(1, Ordering::Relaxed)) {
        fates.extend(shop.play(purchase).await?);
    }
    Ok(fates)
}

impl<DB: Till> Shop<DB> {
    /// Delivers all that belongs to one purchase.
    async fn play(&self, purchase: &Purchase) -> Result<Vec<(Delivery, Fate)>, Error> {
        let token = shop::open_page(&self.instances[0], purchase.user_id).await?;
        let page = Page { token, is_grey: AtomicBool::new(false) };
        let at = |moment| purchase.deliveries.iter().filter(move |it| it.moment == moment);
        let mut fates = Vec::new();
        for moment in [Moment::AtOnce, Moment::Soon] {
            let at_once = at(moment).map(|it| self.deliver(it, &page, purchase));
            fates.extend(join_all(at_once).await.into_iter().flatten());
        }
        for late in at(Moment::Late) {
            fates.extend(self.deliver(late, &page, purchase).await);
        }
        Ok(fates)
    }

    /// Delivers it until there is an answer that is none for later.
    async fn deliver(&self, delivery: &Delivery, page: &Page, purchase: &Purchase) -> Option<(Delivery, Fate)> {
        if self.layers.has(Layer::Button) && page.stops(delivery) {
            return Some((*delivery, Fate::Button));
        }
        let luck = delivery.is_cut_after.map_or(Luck::Good, Luck::HungUp);
        let mut tries = 0;
        loop {
            let call = self.receive(delivery, page, purchase);
            let (answer, met) = gate::counting(luck.hears(call)).await;
            tries += 1;
            match fate(answer, met) {
                Ok(fate) => return Some((*delivery, fate)),
                Err(error) if error.comes_again() && tries < TRIES => tokio::time::sleep(PAUSE).await,
                Err(error) => {
                    eprintln!("cart {}, {:?} was never answered: {error}", purchase.cart_id, delivery.source);
                    return None;
                }
            }
        }
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

/// What became of a delivery: nobody heard of one whose instance was cut. A replay belongs to the gate when the call was
/// looked up because of it, and to the claim otherwise.
fn fate(answer: Option<Result<Once<Sale>, CheckoutError>>, met: GateCounts) -> Result<Fate, CheckoutError> {
    let was_looked_up = met.ended > met.false_hints;
    Ok(match answer {
        None => Fate::RolledBack,
        Some(Err(CheckoutError::Token(TokenError::Used))) => Fate::Token,
        Some(Err(error)) => return Err(error),
        Some(Ok(sale)) if sale.is_replay() && was_looked_up => Fate::Gate,
        Some(Ok(sale)) if sale.is_replay() => Fate::Claim,
        Some(Ok(sale)) => match *sale {
            Sale::Charged(_) => Fate::Charged,
            Sale::HasOrder(_) => Fate::UniqueWhile,
            Sale::WasPaid(_) => Fate::Cas,
        },
    })
}
