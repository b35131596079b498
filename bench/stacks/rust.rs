// A second of work with stacks as Rust makes them: generics, iterators, boxed closures, threads.
use std::collections::{BTreeMap, HashMap};
use std::thread;
use std::time::{Duration, Instant};

trait Shape {
    fn area(&self, depth: u32) -> f64;
}

struct Square(f64);

impl Shape for Square {
    #[inline(never)]
    fn area(&self, depth: u32) -> f64 {
        if depth > 0 {
            self.area(depth - 1) * 1.01 + self.0
        } else {
            self.0 * self.0
        }
    }
}

#[inline(never)]
fn sum(shapes: &[Box<dyn Shape>], with: &dyn Fn(f64) -> f64) -> f64 {
    let mut by_name: BTreeMap<String, f64> = BTreeMap::new();
    let mut counts: HashMap<u64, u32> = HashMap::new();
    for shape in shapes {
        *by_name.entry(format!("{:.3}", shape.area(12))).or_default() += with(shape.area(3));
        *counts.entry(shape.area(1) as u64).or_default() += 1;
    }
    by_name.values().sum::<f64>() + counts.len() as f64
}

fn work(seed: u64) -> f64 {
    let end = Instant::now() + Duration::from_secs(1);
    let mut shapes: Vec<Box<dyn Shape>> = Vec::new();
    for i in 0..500 {
        shapes.push(Box::new(Square(((i * 7919 + seed) % 503) as f64)));
    }
    let mut all = 0.0;
    while Instant::now() < end {
        all += sum(&shapes, &|value| value + seed as f64);
        shapes.sort_by(|a, b| a.area(2).partial_cmp(&b.area(2)).unwrap());
    }
    all
}

fn main() {
    let other = thread::spawn(|| work(1));
    let all = work(2) + other.join().unwrap();
    std::process::exit((all == 1.0) as i32);
}
