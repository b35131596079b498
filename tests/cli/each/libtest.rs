// Cases of every kind that Rust's own tests have, for test_each.sh.
#[cfg(test)]
mod parser {
    #[test]
    fn deep() {}

    #[test]
    fn wide() {
        println!("what a bad case prints");
        assert_eq!(1, 2);
    }

    #[test]
    #[ignore]
    fn later() {
        panic!()
    }
}
