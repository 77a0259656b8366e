//! A Redis in a storm: cut off, late, flushed and killed, again and again, for as long as somebody asks it.

mod way;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;

use super::{Programs, url};
use crate::server::{Kind, Place, Server, free_ports};
use way::Way;

/// It is never asked to end: it is killed.
const KIND: Kind = Kind { name: "Redis in a storm", account: "redis", stop: Signal::KILL, orphaned: "KILL" };

/// The way to the server and what happens to both; dropping it ends the storm.
pub(crate) struct Storm {
    url: String,
    is_over: Arc<AtomicBool>,
    blows: Option<JoinHandle<()>>,
}

impl Storm {
    /// Opens the way and begins.
    pub(crate) fn start() -> Result<Self> {
        let programs = Programs::find_or_install()?;
        let [port] = free_ports()?;
        let way = Way::open(port)?;
        let (url, is_over) = (url(way.port()), Arc::<AtomicBool>::default());
        let over = Arc::clone(&is_over);
        // The server ends with the thread that starts it.
        let blows = thread::spawn(move || {
            let blown = Weather { programs, port, way }.blow(&over);
            if let Err(error) = blown {
                eprintln!("error: the storm is over: {error:#}");
            }
        });
        Ok(Self { url, is_over, blows: Some(blows) })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(blows) = self.blows.take() {
            let _ = blows.join();
        }
    }
}

struct Weather {
    programs: Programs,
    port: u16,
    way: Way,
}

/// How long it is calm: a gate that was bypassed asks again after a second.
const CALM_MS: std::ops::Range<u64> = 100..1_500;

/// How long a reply is on its way when it is late: longer than a gate waits.
const LATE: Duration = Duration::from_millis(80);

impl Weather {
    fn blow(&self, is_over: &AtomicBool) -> Result<()> {
        let mut server = self.start_server()?;
        while !is_over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(fastrand::u64(CALM_MS)));
            if !self.way.was_used() {
                continue;
            }
            match fastrand::u8(0..4) {
                0 => self.way.cut(),
                1 => self.way.delay(LATE, || thread::sleep(5 * LATE)),
                2 => self.flush_in_a_loop(),
                _ => {
                    drop(server);
                    thread::sleep(LATE);
                    server = self.start_server()?;
                }
            }
        }
        Ok(())
    }

    fn start_server(&self) -> Result<Server> {
        self.programs.start(Place::new(&KIND)?, &self.port.to_string(), &[])
    }

    fn flush_in_a_loop(&self) {
        for _ in 0..50 {
            // Of a server that does not answer there is nothing to flush.
            let _ = self.flush();
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn flush(&self) -> std::io::Result<()> {
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        server.write_all(b"FLUSHALL\r\n")?;
        server.read(&mut [0; 16]).map(drop)
    }
}
