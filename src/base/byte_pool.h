// SPDX-License-Identifier: Apache-2.0
// Copies of bytes that come and go by the thousand. Fresh memory costs a page fault for each 4 KiB (16 µs where a hypervisor keeps the page
// tables: four times what the copy costs), so what was given back is used again, the last first.
// Keeps kMaxKept bytes at most that nobody uses. Threads: any.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cicada {

class BytePool {
  struct State;
  struct GiveBack {
    std::shared_ptr<State> pool;
    size_t capacity;
    void operator()(uint8_t* bytes) const;
  };

 public:
  static constexpr size_t kMaxKept = 16 << 20;

  // Owns its bytes, also when the pool has gone.
  class Copy {
   public:
    Copy() = default;
    uint8_t* data() { return bytes_.get(); }
    const uint8_t* data() const { return bytes_.get(); }
    size_t size() const { return size_; }
    operator std::span<const uint8_t>() const { return {data(), size_}; }  // NOLINT: implicit on purpose

   private:
    friend class BytePool;
    std::unique_ptr<uint8_t[], GiveBack> bytes_;
    size_t size_ = 0;
  };

  BytePool();
  Copy copy(std::span<const uint8_t> bytes);
  size_t kept() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cicada
