//! Phases and cases of a test in its trace, for tests that run under `tracelet run`.
//!
//! ```
//! #[test]
//! fn parses() {
//!     let case = tracelet::case("parser::parses"); // failed if the test panics
//!     let _load = tracelet::slice("load");
//!     tracelet::mark("cache is cold");
//!     drop(case);
//! }
//! ```
//!
//! The calls do nothing unless tracelet records. libtest runs tests in threads of one process, and each case is on its
//! thread's track; nextest runs a process for each test, which `tracelet each` or `tracelet run` traces as a whole.
//! There are no dependencies: the functions come from libtracelet-mark.so, which is loaded at run time.

use std::env;
use std::ffi::CString;
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libtracelet-mark.so";

#[cfg(target_os = "linux")]
mod library {
    use super::{places, CString};
    use std::os::raw::{c_char, c_int, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::sync::Once;

    extern "C" {
        fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    const RTLD_NOW: c_int = 2;

    pub struct Functions {
        pub mark: unsafe extern "C" fn(*const c_char),
        pub slice_begin: unsafe extern "C" fn(*const c_char),
        pub slice_end: unsafe extern "C" fn(),
        pub counter: unsafe extern "C" fn(*const c_char, f64),
        pub test_begin: unsafe extern "C" fn(*const c_char),
        pub test_end: unsafe extern "C" fn(c_int),
    }

    unsafe fn open() -> Option<Functions> {
        std::env::var_os("TRACELET_MARKS")?;
        let library = places().into_iter().find_map(|place| {
            let name = CString::new(place.as_os_str().as_bytes()).ok()?;
            let library = dlopen(name.as_ptr(), RTLD_NOW);
            if library.is_null() {
                None
            } else {
                Some(library)
            }
        })?;
        let find = |name: &str| {
            let function = dlsym(library, CString::new(name).ok()?.as_ptr());
            if function.is_null() {
                None
            } else {
                Some(function)
            }
        };
        // Each has the type that src/capture/marker/library.c declares.
        Some(Functions {
            mark: std::mem::transmute(find("tracelet_mark")?),
            slice_begin: std::mem::transmute(find("tracelet_slice_begin")?),
            slice_end: std::mem::transmute(find("tracelet_slice_end")?),
            counter: std::mem::transmute(find("tracelet_counter")?),
            test_begin: std::mem::transmute(find("tracelet_test_begin")?),
            test_end: std::mem::transmute(find("tracelet_test_end")?),
        })
    }

    pub fn get() -> Option<&'static Functions> {
        static ONCE: Once = Once::new();
        static mut FUNCTIONS: Option<Functions> = None;
        // Written once, before anybody reads it.
        unsafe {
            ONCE.call_once(|| FUNCTIONS = open());
            (*std::ptr::addr_of!(FUNCTIONS)).as_ref()
        }
    }
}

fn places() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = env::var_os("TRACELET_MARK_LIBRARY").map(PathBuf::from).into_iter().collect();
    let named = env::var_os("TRACELET").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let programs = env::split_paths(&path).map(|folder| folder.join("tracelet"));
    for program in named.into_iter().chain(programs).filter_map(|program| program.canonicalize().ok()) {
        let folder = program.parent().unwrap_or_else(|| Path::new("/")).to_path_buf();
        found.push(folder.join(LIBRARY));
        let library = folder.join("../lib");
        found.push(library.join("tracelet").join(LIBRARY));
        found.push(library.join(format!("{}-linux-gnu/tracelet", env::consts::ARCH)).join(LIBRARY));
        found.push(folder.join("../lib64/tracelet").join(LIBRARY));
    }
    found
}

fn text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

macro_rules! call {
    ($name:ident $(, $argument:expr)*) => {
        #[cfg(target_os = "linux")]
        if let Some(functions) = library::get() {
            unsafe { (functions.$name)($($argument),*) }
        }
    };
}

/// A point in time on this thread's track.
pub fn mark(what: &str) {
    let what = text(what);
    call!(mark, what.as_ptr());
}

/// A curve of this process.
pub fn counter(name: &str, value: f64) {
    let name = text(name);
    call!(counter, name.as_ptr(), value);
}

/// A bar on this thread's track, until it is dropped.
#[must_use = "the bar ends when this is dropped"]
pub struct Slice(());

pub fn slice(name: &str) -> Slice {
    let name = text(name);
    call!(slice_begin, name.as_ptr());
    Slice(())
}

impl Drop for Slice {
    fn drop(&mut self) {
        call!(slice_end);
    }
}

/// A case, until it is dropped: passed, or failed if the thread panics.
#[must_use = "the case ends when this is dropped"]
pub struct Case(());

pub fn case(name: &str) -> Case {
    let name = text(name);
    call!(test_begin, name.as_ptr());
    Case(())
}

impl Drop for Case {
    fn drop(&mut self) {
        let result = if std::thread::panicking() { 1 } else { 0 };
        call!(test_end, result);
    }
}

/// Whether tracelet records this test.
pub fn active() -> bool {
    env::var_os("TRACELET_MARKS").is_some()
}
