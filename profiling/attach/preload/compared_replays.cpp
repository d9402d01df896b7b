#include "profiling/attach/preload/compared_replays.h"

#include <unistd.h>

#include <atomic>

#include "profiling/attach/preload/captures.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/graph_api.h"
#include "profiling/attach/preload/listed_pieces.h"
#include "profiling/attach/preload/live_memory.h"
#include "profiling/attach/preload/scratch.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

using spool::ChangedRange;

constinit std::atomic<bool> g_compares{false};
constinit std::atomic_flag g_comparing = ATOMIC_FLAG_INIT;  // one thread at a time
constinit MemoryHash g_hash{};
constinit CUcontext g_hash_context = nullptr;  // in which the kernel is
constinit std::uint64_t g_hash_context_id = 0;
constinit bool g_others_reported = false;  // that graphs of other contexts are not compared
constinit std::uint32_t g_comparisons = 0;

/// The first ones, in which a program is prepared, and later ever fewer: a fault that needs many
/// replays is still seen. Two in a row, since what changes between them is then known to be the
/// program's and not earlier replays'.
bool is_chosen(std::uint64_t replay) {
  const auto is_power = [](std::uint64_t n) { return n != 0 && (n & (n - 1)) == 0; };
  return replay != 0 && (replay <= 9 || is_power(replay) || is_power(replay - 1));
}

// What a piece held when it was hashed last. Open addressing; an address of 0 is an empty place.
struct SeenPiece {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t hash;
  std::uint32_t changed;  // of ChangedRange
  std::uint32_t comparison;
};
constexpr std::size_t kSeenPlaces = kMostPieces * 2;
constinit SeenPiece g_seen[kSeenPlaces]{};

SeenPiece& seen(std::uint64_t address) {
  std::size_t place = static_cast<std::size_t>(address * 0x9E3779B97F4A7C15 >> 20) % kSeenPlaces;
  SeenPiece* gone = nullptr;  // the first of those that the newest comparison did not have
  for (std::size_t probe = 0; probe < 64; ++probe) {
    SeenPiece& piece = g_seen[(place + probe) % kSeenPlaces];
    if (piece.address == address) return piece;
    if (piece.address == 0) return gone != nullptr ? *gone : piece;
    if (gone == nullptr && piece.comparison + 1 < g_comparisons) gone = &piece;
  }
  // At worst this is another piece's place, which then counts as new.
  return gone != nullptr ? *gone : g_seen[place];
}

constexpr std::uint64_t kLimit = 30'000'000'000;  // ns
constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

/// Until what was enqueued has ended. A program that must do something itself before that ends
/// would wait for ever, so there is a limit.
Refusal wait_until_idle(OnStream on, std::uint64_t limit = kLimit) {
  const std::uint64_t since = now();
  for (;;) {
    const CUresult result =
        on.per_thread ? real<&cuStreamQuery_ptsz>(on.stream) : real<&cuStreamQuery>(on.stream);
    if (result != CUDA_ERROR_NOT_READY) return {.result = result, .call = "cuStreamQuery"};
    if (now() - since > limit) return {.result = CUDA_ERROR_NOT_READY, .call = "cuStreamQuery"};
    usleep(20);
  }
}

void report(const Refusal& why) {
  const std::uint32_t bytes = text_bytes(why.call);
  Frame<spool::ComparisonsStopped> frame(bytes);
  if (!frame) return;
  frame->result = why.result;
  frame->call_bytes = bytes;
  if (bytes > 0) frame.append(why.call, bytes);
}

/// No comparison follows; the program goes on as without them.
void stop(const Refusal& why) {
  g_compares.store(false, std::memory_order_relaxed);
  report(why);
}

/// A graph of another context than the kernel's is launched, perhaps because that one is gone.
void skip_other_context() {
  if (context_id(g_hash_context) != g_hash_context_id)
    return stop({.result = CUDA_ERROR_CONTEXT_IS_DESTROYED});
  if (g_others_reported) return;
  g_others_reported = true;
  report({.result = CUDA_ERROR_INVALID_CONTEXT});
}

/// Hashes all memory; visit(piece, its hash) for each.
template <class Visit>
Refusal hash_all(OnStream on, Listed& listed, Visit visit) {
  const MemoryStays memory;
  listed = list_pieces(memory, g_hash_context_id, g_hash.pieces());
  if (const Refusal refused = g_hash.launch(listed.pieces, on)) return refused;
  // The kernel reads memory that must not go: nobody may stop waiting for it. The stream was idle.
  if (const Refusal refused = wait_until_idle(on, kNoLimit)) return refused;
  for (std::size_t i = 0; i < listed.pieces; ++i) visit(g_hash.pieces()[i], g_hash.hashes()[i]);
  return {};
}

Refusal hash_before(OnStream on) {
  ++g_comparisons;
  Listed listed;
  return hash_all(on, listed, [](const Piece& piece, std::uint64_t hash) {
    SeenPiece& before = seen(piece.address);
    const bool known = before.address == piece.address && before.bytes == piece.bytes;
    const std::uint32_t changed = !known                ? ChangedRange::kNew
                                  : before.hash != hash ? ChangedRange::kByProgram
                                                        : 0;
    before = {piece.address, piece.bytes, hash, changed, g_comparisons};
  });
}

/// Pieces of one allocation or tensor that changed alike and follow one another, as one range.
class RangeList {
 public:
  explicit RangeList(std::size_t most)
      : ranges_(most), most_(ranges_.data() == nullptr ? 0 : most) {}

  void add(const Piece& piece, std::uint32_t changed) {
    if (count_ > 0 && !begins_part(static_cast<std::size_t>(&piece - g_hash.pieces()))) {
      ChangedRange& last = ranges_[count_ - 1];
      if (last.changed == changed && last.address + last.bytes == piece.address) {
        last.bytes += piece.bytes;
        return;
      }
    }
    if (count_ == most_) {
      cut_ = true;
      return;
    }
    ranges_[count_++] = {
        .address = piece.address, .bytes = piece.bytes, .changed = changed, .unused = 0};
  }
  const ChangedRange* data() { return ranges_.data(); }
  std::size_t count() const { return count_; }
  bool cut() const { return cut_; }

 private:
  Scratch<ChangedRange> ranges_;
  std::size_t most_;
  std::size_t count_ = 0;
  bool cut_ = false;
};

Refusal hash_after(std::uint64_t exec, std::uint64_t replay, OnStream on) {
  RangeList ranges(spool::kMostChangedRanges);
  Listed listed;
  const Refusal refused = hash_all(on, listed, [&](const Piece& piece, std::uint64_t hash) {
    SeenPiece& before = seen(piece.address);
    const bool known = before.address == piece.address && before.bytes == piece.bytes &&
                       before.comparison == g_comparisons;
    std::uint32_t changed = known ? before.changed : ChangedRange::kNew;
    if (known && before.hash != hash) changed |= ChangedRange::kByReplay;
    before = {piece.address, piece.bytes, hash, 0, g_comparisons};
    // At the first comparison everything is new, which says nothing.
    if (changed != 0 && (g_comparisons > 1 || changed != ChangedRange::kNew))
      ranges.add(piece, changed);
  });
  if (refused) return refused;
  const std::size_t bytes = ranges.count() * sizeof(ChangedRange);
  Frame<spool::ReplayCompared> frame(bytes);
  if (!frame) return {};
  frame->exec = exec;
  frame->replay = replay;
  frame->bytes = listed.bytes;
  frame->ranges = static_cast<std::uint32_t>(ranges.count());
  frame->cut = listed.cut || ranges.cut() ? 1 : 0;
  if (bytes > 0) frame.append(ranges.data(), bytes);
  return {};
}

}  // namespace

void compare_replays() {
  keep_live_memory();
  g_compares.store(true, std::memory_order_relaxed);
}

ComparedReplay::ComparedReplay(std::uint64_t exec, std::uint64_t replay, OnStream on,
                               WaitScope& wait)
    : exec_(exec), replay_(replay), on_(on), wait_(wait) {
  if (!g_compares.load(std::memory_order_relaxed) || !is_chosen(replay) || any_capture()) return;
  if (spool_header() == nullptr || g_comparing.test_and_set(std::memory_order_acquire)) return;
  const RelaxedCapture relaxed(graph_api());
  // The kernel belongs to the context of the first comparison; that one may be gone by now.
  const CUcontext context = current_context();
  const std::uint64_t id = context_id(context);
  Refusal refused;
  if (id == 0) refused = {.result = CUDA_ERROR_NOT_FOUND, .call = "cuCtxGetId"};
  if (!refused && g_hash_context_id == 0) {
    refused = g_hash.prepare();
    g_hash_context = context;
    g_hash_context_id = id;
  }
  compares_ = !refused && id == g_hash_context_id;
  if (!refused && !compares_) skip_other_context();
  if (compares_) {
    wait_.goes_on_as(spool::WaitCall::BeforeComparedLaunch);
    refused = wait_until_idle(on_);
    if (!refused) refused = hash_before(on_);
    wait_.goes_on_as(spool::WaitCall::GraphLaunch);
  }
  if (refused) {
    stop(refused);
    compares_ = false;
  }
  if (!compares_) g_comparing.clear(std::memory_order_release);
}

ComparedReplay::~ComparedReplay() {
  if (!compares_) return;
  if (!refused_) {
    const RelaxedCapture relaxed(graph_api());
    wait_.goes_on_as(spool::WaitCall::AfterComparedLaunch);
    Refusal refused = wait_until_idle(on_);
    if (!refused) refused = hash_after(exec_, replay_, on_);
    if (refused) stop(refused);
  }
  g_comparing.clear(std::memory_order_release);
}

void drop_comparisons_of_parent() {
  g_compares.store(false);
  g_comparing.clear();
  g_hash = {};
  g_hash_context = nullptr;
  g_hash_context_id = 0;
  g_others_reported = false;
  for (SeenPiece& piece : g_seen) {
    if (piece.address != 0) piece = {};
  }
  drop_memory_of_parent();
}

}  // namespace attach
