// SPDX-License-Identifier: Apache-2.0
// State that one thread, its owner, changes and any number read. The owner reads it without the lock, because nobody else changes it: so nobody waits for what
// the owner does meanwhile. It changes it with the lock, which only change() gives; others read with the lock.
//
//   OwnedState<Table> table;
//   owner:   if (!table.get().contains(pid)) table.change()->insert(pid);
//   others:  const auto known = table.read();  known->find(pid);
//
// Neither change() nor read() is called with the other's result, or its own, at hand in the same thread.
#pragma once
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace cicada {

template <typename T>
class OwnedState {
  template <typename State, typename Lock>
  class Locked {
   public:
    Locked(State& state, std::shared_mutex& mutex) : lock_(mutex), state_(state) {}
    State& operator*() const { return state_; }
    State* operator->() const { return &state_; }

   private:
    Lock lock_;
    State& state_;
  };

 public:
  template <typename... Arguments>
  explicit OwnedState(Arguments&&... arguments) : state_(std::forward<Arguments>(arguments)...) {}

  // The owner.
  const T& get() const { return state_; }
  Locked<T, std::unique_lock<std::shared_mutex>> change() { return {state_, mutex_}; }

  // Any thread but the owner with a change at hand.
  Locked<const T, std::shared_lock<std::shared_mutex>> read() const { return {state_, mutex_}; }

 private:
  mutable std::shared_mutex mutex_;
  T state_;
};

}  // namespace cicada
