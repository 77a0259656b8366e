use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A proxy before a server on the loopback. It ends with the process.
pub(super) struct Way {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// For how many milliseconds a reply is kept.
    delay: AtomicU64,
    was_used: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
}

impl Way {
    /// Opens a way to the server at a port.
    pub(super) fn open(server: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (port, state) = (listener.local_addr()?.port(), Arc::<State>::default());
        let ours = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Without a server the client is cut off.
                let _ = ours.connect(client, server);
            }
        });
        Ok(Self { port, state })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Whether something has come this way since it was last asked.
    pub(super) fn was_used(&self) -> bool {
        self.state.was_used.swap(false, Ordering::Relaxed)
    }

    /// Closes every connection.
    pub(super) fn cut(&self) {
        for connection in self.state.connections().drain(..) {
            // One that is closed already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// Replies are late for as long as `during` runs.
    pub(super) fn delay(&self, delay: Duration, during: impl FnOnce()) {
        let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        self.state.delay.store(delay, Ordering::Relaxed);
        during();
        self.state.delay.store(0, Ordering::Relaxed);
    }
}

impl State {
    fn connect(self: &Arc<Self>, client: TcpStream, server: u16) -> io::Result<()> {
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server))?;
        server.set_nodelay(true)?;
        client.set_nodelay(true)?;
        self.connections().push(client.try_clone()?);
        let asked = (client.try_clone()?, server.try_clone()?);
        let (asks, replies) = (Arc::clone(self), Arc::clone(self));
        thread::spawn(move || carry(asked.0, asked.1, || asks.was_used.store(true, Ordering::Relaxed)));
        thread::spawn(move || {
            carry(server, client, || thread::sleep(Duration::from_millis(replies.delay.load(Ordering::Relaxed))));
        });
        Ok(())
    }

    fn connections(&self) -> MutexGuard<'_, Vec<TcpStream>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries what one side says to the other, until one of them is done; then both are.
fn carry(mut from: TcpStream, mut to: TcpStream, before: impl Fn()) {
    let mut said = vec![0; 8 * 1024];
    while let Ok(length @ 1..) = from.read(&mut said) {
        before();
        if to.write_all(&said[..length]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
