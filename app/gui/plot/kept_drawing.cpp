// Copies triangles out of a draw list and back into one.
#include "app/gui/plot/kept_drawing.h"

#include <algorithm>
#include <cstring>

namespace app::plot {
namespace {

bool same(const ImVec4& a, const ImVec4& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

}  // namespace

KeptDrawing::Begin KeptDrawing::begin_of(const ImDrawList& list) {
  return {list.VtxBuffer.Size, list.IdxBuffer.Size, list._CmdHeader, list.CmdBuffer.Size,
          list._VtxCurrentIdx};
}

void KeptDrawing::keep(const ImDrawList& list, const DrawingKey& key, const Begin& begin) {
  // Past 65 535 vertices ImGui restarts the index count: such a drawing is made each frame, as is
  // one that changed the clip rectangle along the way.
  const ImDrawCmdHeader& now = list._CmdHeader;
  valid_ = same(now.ClipRect, begin.header.ClipRect) && now.TextureId == begin.header.TextureId &&
           now.VtxOffset == begin.header.VtxOffset && list.CmdBuffer.Size == begin.commands;
  if (!valid_) return;
  key_ = key;
  clip_ = now.ClipRect;
  vertices_.assign(list.VtxBuffer.begin() + begin.vertex, list.VtxBuffer.end());
  indices_.resize(static_cast<std::size_t>(list.IdxBuffer.Size - begin.index));
  std::transform(
      list.IdxBuffer.begin() + begin.index, list.IdxBuffer.end(), indices_.begin(),
      [&](ImDrawIdx index) { return static_cast<ImDrawIdx>(index - begin.first_index); });
}

bool KeptDrawing::again(ImDrawList& list, const DrawingKey& key) const {
  if (!valid_ || !(key == key_) || !same(clip_, list._CmdHeader.ClipRect)) return false;
  if (vertices_.empty()) return true;
  list.PrimReserve(static_cast<int>(indices_.size()), static_cast<int>(vertices_.size()));
  // After PrimReserve: it may have restarted the index count.
  const unsigned int first = list._VtxCurrentIdx;
  std::memcpy(list._VtxWritePtr, vertices_.data(), vertices_.size() * sizeof(ImDrawVert));
  std::transform(indices_.begin(), indices_.end(), list._IdxWritePtr,
                 [first](ImDrawIdx index) { return static_cast<ImDrawIdx>(first + index); });
  list._VtxWritePtr += vertices_.size();
  list._IdxWritePtr += indices_.size();
  list._VtxCurrentIdx += static_cast<unsigned int>(vertices_.size());
  return true;
}

}  // namespace app::plot
