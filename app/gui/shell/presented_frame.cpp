#include "app/gui/shell/presented_frame.h"

#include <cstddef>
#include <cstring>

#include "app/gui/plot/heatmap_plot.h"
#include "engine/model/word_hash.h"

namespace app {
namespace {

/// Of bytes, 64 bits: a frame that is wrongly taken for the one before would be replaced by the
/// next event.
class Hash {
 public:
  void add(const void* from, std::size_t bytes) {
    const auto* at = static_cast<const std::byte*>(from);
    for (; bytes >= 8; at += 8, bytes -= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, sizeof word);
      hash_ = engine::with_word(hash_, word);
    }
    std::uint64_t rest = bytes;
    std::memcpy(&rest, at, bytes);
    hash_ = engine::with_word(hash_, rest ^ std::uint64_t{bytes} << 56);
  }
  template <class T>
  void add(const T& value) {
    add(&value, sizeof value);
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = engine::kWordHashSeed;
};

}  // namespace

bool PresentedFrame::changes_to(const ImDrawData& data, int width, int height, ImU32 background) {
  Hash hash;
  hash.add(width);
  hash.add(height);
  hash.add(background);
  hash.add(data.DisplayPos);
  hash.add(data.DisplaySize);
  hash.add(plot::Texture::uploads());  // a texture with other content keeps its name
  for (int l = 0; l < data.CmdListsCount; ++l) {
    const ImDrawList& list = *data.CmdLists[l];
    hash.add(list.VtxBuffer.Data, static_cast<std::size_t>(list.VtxBuffer.size_in_bytes()));
    hash.add(list.IdxBuffer.Data, static_cast<std::size_t>(list.IdxBuffer.size_in_bytes()));
    for (const ImDrawCmd& command : list.CmdBuffer) {
      hash.add(command.ClipRect);
      hash.add(command.TextureId);
      hash.add(command.VtxOffset);
      hash.add(command.IdxOffset);
      hash.add(command.ElemCount);
    }
  }
  if (shown_ == hash.value()) return false;
  shown_ = hash.value();
  return true;
}

}  // namespace app
