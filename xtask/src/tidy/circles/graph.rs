//! Strongly connected components, by Tarjan's algorithm.

use std::collections::{BTreeMap, BTreeSet};

/// Sets of at least two nodes that can all reach each other.
pub(super) fn circles<'a>(
    nodes: &BTreeSet<&'a str>,
    edges: &[(&'a str, &'a str)],
) -> Vec<BTreeSet<&'a str>> {
    let mut search = Search { edges, ..Search::default() };
    for node in nodes {
        if !search.index.contains_key(node) {
            search.visit(node);
        }
    }
    search.found
}

#[derive(Default)]
struct Search<'a, 'e> {
    edges: &'e [(&'a str, &'a str)],
    index: BTreeMap<&'a str, usize>,
    lowest: BTreeMap<&'a str, usize>,
    stack: Vec<&'a str>,
    found: Vec<BTreeSet<&'a str>>,
}

impl<'a> Search<'a, '_> {
    /// Returns the lowest index reachable from a node.
    fn visit(&mut self, node: &'a str) -> usize {
        let index = self.index.len();
        self.index.insert(node, index);
        self.stack.push(node);
        let mut lowest = index;
        let edges = self.edges;
        for (_, next) in edges.iter().filter(|(from, _)| *from == node) {
            match self.index.get(next) {
                None => lowest = lowest.min(self.visit(next)),
                Some(seen) if self.stack.contains(next) => lowest = lowest.min(*seen),
                Some(_) => {}
            }
        }
        self.lowest.insert(node, lowest);
        if lowest == index {
            let at = self.stack.iter().rposition(|waiting| *waiting == node).unwrap_or(0);
            let members: BTreeSet<&str> = self.stack.split_off(at).into_iter().collect();
            if members.len() > 1 {
                self.found.push(members);
            }
        }
        lowest
    }
}
