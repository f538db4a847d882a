// SPDX-License-Identifier: Apache-2.0
#include "base/byte_pool.h"

#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace cicada {

struct BytePool::State {
  using Bytes = std::unique_ptr<uint8_t[]>;
  mutable std::mutex mutex;
  std::map<size_t, std::vector<Bytes>> kept;  // by capacity
  size_t kept_bytes = 0;
};

BytePool::BytePool() : state_(std::make_shared<State>()) {}

void BytePool::GiveBack::operator()(uint8_t* bytes) const {
  State::Bytes owned(bytes);
  const std::lock_guard lock(pool->mutex);
  if (pool->kept_bytes + capacity > kMaxKept) return;
  pool->kept_bytes += capacity;
  pool->kept[capacity].push_back(std::move(owned));
}

BytePool::Copy BytePool::copy(std::span<const uint8_t> bytes) {
  const size_t capacity = std::bit_ceil(bytes.size());
  State::Bytes found;
  {
    const std::lock_guard lock(state_->mutex);
    if (const auto kept = state_->kept.find(capacity); kept != state_->kept.end() && !kept->second.empty()) {
      found = std::move(kept->second.back());
      kept->second.pop_back();
      state_->kept_bytes -= capacity;
    }
  }
  if (found == nullptr) found.reset(new uint8_t[capacity]);
  Copy copy;
  copy.bytes_ = {found.release(), GiveBack{state_, capacity}};
  copy.size_ = bytes.size();
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

size_t BytePool::kept() const {
  const std::lock_guard lock(state_->mutex);
  return state_->kept_bytes;
}

}  // namespace cicada
