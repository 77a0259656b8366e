//! A network that loses a statement, or the answer to it: a proxy on the loopback between a pool and its server.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use idem_runtime::{Dialect, Idem};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{BoxError, Engine, TestDb};

/// A way to a test's database that goes through here.
pub(crate) struct Proxy<DB: Engine> {
    db: TestDb<DB>,
    holds: Holds,
    listener: JoinHandle<()>,
}

/// What waits for statements, the first one first.
type Holds = Arc<Mutex<VecDeque<Hold>>>;

/// The connection's end of a [`Held`].
struct Hold {
    /// Part of what is waited for.
    part: Vec<u8>,
    /// The server has answered before the sender is cut off.
    answers_first: bool,
    arrives: oneshot::Receiver<bool>,
    ended: oneshot::Sender<()>,
}

/// A statement that is on its way, after its sender was cut off. Dropped, it is lost.
pub(crate) struct Held {
    arrives: oneshot::Sender<bool>,
    ended: oneshot::Receiver<()>,
}

impl<DB: Engine> Proxy<DB> {
    /// Opens a way to the database.
    pub(crate) async fn to(db: &TestDb<DB>) -> Result<Self, BoxError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (server, url) = through(db.url(), listener.local_addr()?.port())?;
        let holds = Holds::default();
        let listener = tokio::spawn(listen(listener, server, Arc::clone(&holds)));
        Ok(Self { db: TestDb::attach(url)?, holds, listener })
    }

    /// A new engine of idem, whose pool has connections that go this way.
    pub(crate) async fn idem(&self, max_connections: u32) -> Result<Idem<DB>, BoxError> {
        self.db.idem(max_connections).await
    }

    /// A new pool, whose connections go this way.
    pub(crate) fn pool(&self, max_connections: u32) -> Result<sqlx::Pool<DB>, BoxError> {
        self.db.pool(max_connections)
    }

    /// Cuts the connection that sends the next COMMIT, and keeps the COMMIT until the test says what becomes of it.
    pub(crate) fn hold_commit(&self) -> Held {
        self.hold(commit(DB::DIALECT))
    }

    /// The same for the next statement that has a part, such as the text of one of its parameters.
    pub(crate) fn hold(&self, part: impl AsRef<[u8]>) -> Held {
        let (decide, arrives) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let hold = Hold { part: part.as_ref().to_vec(), answers_first: false, arrives, ended: end };
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).push_back(hold);
        Held { arrives: decide, ended }
    }

    /// Cuts the connection that sends the next packet with this in it, after the server has answered.
    pub(crate) fn lose_answer_to(&self, said: &str) {
        let (arrives, ended) = (oneshot::channel().1, oneshot::channel().0);
        let hold = Hold { part: said.as_bytes().to_vec(), answers_first: true, arrives, ended };
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).push_back(hold);
    }

    /// Whether nothing is waited for any more.
    pub(crate) fn is_done(&self) -> bool {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Lets nobody connect from now on.
    pub(crate) fn close(&self) {
        self.listener.abort();
    }
}

impl<DB: Engine> Drop for Proxy<DB> {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Held {
    /// The server gets the statement and has answered, or never sees it: then it sees that the connection is closed.
    ///
    /// # Errors
    ///
    /// When it never came.
    pub(crate) async fn end(self, arrives: bool) -> Result<(), BoxError> {
        self.arrives.send(arrives).map_err(|_| "the proxy is gone")?;
        Ok(self.ended.await?)
    }
}

impl Hold {
    async fn end(self, statement: &[u8], mut server: TcpStream) -> io::Result<()> {
        if self.arrives.await.unwrap_or(false) {
            carry_out(statement, &mut server).await?;
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

async fn listen(listener: TcpListener, server: String, holds: Holds) {
    while let Ok((client, _)) = listener.accept().await {
        let (server, holds) = (server.clone(), Arc::clone(&holds));
        tokio::spawn(async move {
            // Whichever side closes the connection, the other one sees it closed.
            let _ = carry(client, TcpStream::connect(server).await?, &holds).await;
            Ok::<_, io::Error>(())
        });
    }
}

/// Carries what both sides say, until one of them is done or a statement is held.
async fn carry(mut client: TcpStream, mut server: TcpStream, holds: &Holds) -> io::Result<()> {
    let (mut asked, mut answered) = (vec![0; 8 * 1024], vec![0; 8 * 1024]);
    loop {
        tokio::select! {
            length = client.read(&mut asked) => {
                let said = &asked[..length?];
                if said.is_empty() {
                    return Ok(());
                }
                if let Some(hold) = hold_of(said, holds) {
                    if hold.answers_first {
                        return carry_out(said, &mut server).await;
                    }
                    drop(client);
                    return hold.end(said, server).await;
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

fn hold_of(said: &[u8], holds: &Holds) -> Option<Hold> {
    let mut holds = holds.lock().unwrap_or_else(PoisonError::into_inner);
    let has = |hold: &Hold| said.windows(hold.part.len()).any(|part| part == hold.part);
    let place = holds.iter().position(has)?;
    holds.remove(place)
}
