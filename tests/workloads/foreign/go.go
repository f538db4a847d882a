// SPDX-License-Identifier: Apache-2.0
// Go keeps frame pointers; its goroutines run on stacks of their own, its linker strips CFI with -s -w.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

var sink int

//go:noinline
func leaf() {
	n := sink
	for i := 0; i < 400000; i++ {
		n ^= n<<1 + i
	}
	sink = n
}

//go:noinline
func third() { leaf(); sink++ }

//go:noinline
func second() { third(); sink++ }

//go:noinline
func first() { second(); sink++ }

func main() {
	seconds := 2.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	fmt.Println("chain main.main;main.first;main.second;main.third;main.leaf")
	fmt.Println("share main.leaf 90")
	fmt.Println("complete")
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		first()
	}
}
