//! A network that loses COMMIT, or the answer to it or to another statement: a proxy on the loopback between a pool and
//! its server.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idem_runtime::{Dialect, Idem};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{BoxError, Engine, TestDb};

/// A way to a test's database that goes through here.
pub(crate) struct Proxy<DB: Engine> {
    db: TestDb<DB>,
    rules: Arc<Rules>,
    listener: JoinHandle<()>,
}

/// What becomes of a packet.
#[derive(Default)]
struct Rules {
    /// What waits for the next COMMITs, the first one first.
    holds: Mutex<VecDeque<Hold>>,
    /// What the packet says to which the answer is lost.
    unanswered: Mutex<Option<&'static str>>,
}

/// The connection's end of a [`Held`].
struct Hold {
    arrives: oneshot::Receiver<bool>,
    ended: oneshot::Sender<()>,
}

/// A COMMIT that is on its way, after its sender was cut off. Dropped, it is lost.
pub(crate) struct Held {
    arrives: oneshot::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl<DB: Engine> Proxy<DB> {
    /// Opens a way to the database.
    pub(crate) async fn to(db: &TestDb<DB>) -> Result<Self, BoxError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (server, url) = through(db.url(), listener.local_addr()?.port())?;
        let rules = Arc::<Rules>::default();
        let listener = tokio::spawn(listen(listener, server, commit(DB::DIALECT), Arc::clone(&rules)));
        Ok(Self { db: TestDb::attach(url)?, rules, listener })
    }

    /// A new engine of idem, whose pool has connections that go this way.
    pub(crate) async fn idem(&self, max_connections: u32) -> Result<Idem<DB>, BoxError> {
        self.db.idem(max_connections).await
    }

    /// Cuts the connection that sends the next COMMIT, and keeps the COMMIT until the test says what becomes of it.
    pub(crate) fn hold_commit(&self) -> Held {
        let (decide, arrives) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        lock(&self.rules.holds).push_back(Hold { arrives, ended: end });
        Held { arrives: decide, ended }
    }

    /// Cuts the connection that sends the next packet with this in it, after the server has answered.
    pub(crate) fn lose_answer_to(&self, said: &'static str) {
        *lock(&self.rules.unanswered) = Some(said);
    }

    /// Whether the answer was lost.
    pub(crate) fn is_done(&self) -> bool {
        lock(&self.rules.unanswered).is_none()
    }
}

impl<DB: Engine> Drop for Proxy<DB> {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Held {
    /// The server gets the COMMIT and has answered, or never sees it: then it sees that the connection is closed.
    ///
    /// # Errors
    ///
    /// When no COMMIT came.
    pub(crate) async fn end(self, arrives: bool) -> Result<(), BoxError> {
        self.arrives.send(arrives).map_err(|_| "the proxy is gone")?;
        Ok(self.ended.await?)
    }
}

impl Hold {
    async fn end(self, commit: &[u8], mut server: TcpStream) -> io::Result<()> {
        if self.arrives.await.unwrap_or(false) {
            carry_out(commit, &mut server).await?;
        }
        drop(server);
        // A test that does not wait for the end has gone on.
        let _ = self.ended.send(());
        Ok(())
    }
}

/// The server gets a packet and has answered.
async fn carry_out(packet: &[u8], server: &mut TcpStream) -> io::Result<()> {
    server.write_all(packet).await?;
    let answered = server.read(&mut [0; 64]).await?;
    assert!(answered > 0, "the server answers");
    Ok(())
}

/// The server's address, and the URL with that of the proxy in its place.
fn through(url: &str, port: u16) -> Result<(String, String), BoxError> {
    let (scheme, rest) = url.split_once("://").ok_or("a URL has a scheme")?;
    let (authority, database) = rest.split_once('/').ok_or("a URL names a database")?;
    let (user, server) = authority.rsplit_once('@').unwrap_or(("", authority));
    if !server.contains(':') {
        return Err(format!("the URL of the tests' server has no port: {server}").into());
    }
    Ok((server.to_owned(), format!("{scheme}://{user}@{}:{port}/{database}", Ipv4Addr::LOCALHOST)))
}

/// The end of the packet in which sqlx sends a COMMIT: text, without parameters.
fn commit(dialect: Dialect) -> &'static [u8] {
    match dialect {
        Dialect::Postgres => b"Q\0\0\0\x0bCOMMIT\0",
        Dialect::MySql => b"\x07\0\0\0\x03COMMIT",
        Dialect::Sqlite => unreachable!("there is no network between SQLite and its file"),
    }
}

async fn listen(listener: TcpListener, server: String, commit: &'static [u8], rules: Arc<Rules>) {
    while let Ok((client, _)) = listener.accept().await {
        let (server, rules) = (server.clone(), Arc::clone(&rules));
        tokio::spawn(async move {
            // Whichever side closes the connection, the other one sees it closed.
            let _ = carry(client, TcpStream::connect(server).await?, commit, &rules).await;
            Ok::<_, io::Error>(())
        });
    }
}

/// Carries what both sides say, until one of them is done, a COMMIT is held or an answer is lost.
async fn carry(mut client: TcpStream, mut server: TcpStream, commit: &[u8], rules: &Rules) -> io::Result<()> {
    let (mut asked, mut answered) = (vec![0; 8 * 1024], vec![0; 8 * 1024]);
    loop {
        tokio::select! {
            length = client.read(&mut asked) => {
                let said = &asked[..length?];
                if said.is_empty() {
                    return Ok(());
                }
                if said.ends_with(commit) && let Some(hold) = rules.next_hold() {
                    drop(client);
                    return hold.end(said, server).await;
                }
                if rules.take_unanswered(said) {
                    return carry_out(said, &mut server).await;
                }
                server.write_all(said).await?;
            }
            length = server.read(&mut answered) => {
                let said = &answered[..length?];
                if said.is_empty() {
                    return Ok(());
                }
                client.write_all(said).await?;
            }
        }
    }
}

impl Rules {
    fn next_hold(&self) -> Option<Hold> {
        lock(&self.holds).pop_front()
    }

    /// Whether it is the packet to which the answer is lost.
    fn take_unanswered(&self, packet: &[u8]) -> bool {
        let is_in = |said: &mut &str| packet.windows(said.len()).any(|window| window == said.as_bytes());
        lock(&self.unanswered).take_if(is_in).is_some()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
