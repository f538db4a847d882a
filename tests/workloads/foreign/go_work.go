// SPDX-License-Identifier: Apache-2.0
// What Go programs do all day: strings, maps, sorting, recursion, hashing, and a heap to collect. On one thread. Until it is killed.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
)

type node struct {
	left, right *node
	value       int
}

func (n *node) insert(value int) *node {
	if n == nil {
		return &node{nil, nil, value}
	}
	if value < n.value {
		n.left = n.left.insert(value)
	} else {
		n.right = n.right.insert(value)
	}
	return n
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.left.sum() + n.value + n.right.sum()
}

func work(turn int) int {
	words := strings.Fields(strings.Repeat("one two three four ", 50))
	counts := map[string]int{}
	for i, word := range words {
		counts[fmt.Sprintf("%s%d", word, (i*turn)%37)]++
	}
	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	var root *node
	x := uint32(turn)
	for i := 0; i < 300; i++ {
		x = x*1664525 + 1013904223
		root = root.insert(int(x >> 8))
	}
	digest := sha256.Sum256([]byte(strings.Join(keys, ",")))
	return root.sum() + int(digest[0])
}

func main() {
	runtime.LockOSThread()
	total := 0
	for turn := 1; turn > 0; turn++ {
		total += work(turn)
	}
	fmt.Fprintln(os.Stderr, total)
}
