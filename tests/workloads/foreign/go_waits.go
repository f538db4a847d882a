// SPDX-License-Identifier: Apache-2.0
// Goroutines that wait for a channel, a mutex and the time: when none can run, the threads below them wait in the scheduler, on stacks of their own.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

var mutex sync.Mutex

//go:noinline
func handsOn(from, to chan int) {
	for value := range from {
		mutex.Lock()
		time.Sleep(200 * time.Microsecond)
		mutex.Unlock()
		to <- value
	}
}

func main() {
	seconds := 2.0
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	there, back := make(chan int), make(chan int)
	for i := 0; i < 8; i++ {
		go handsOn(there, back)
	}
	fmt.Println("complete")
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		go func() { there <- 1 }()
		<-back
	}
}
