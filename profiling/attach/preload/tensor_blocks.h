// Tensors' memory inside the segments of PyTorch's caching allocator. A replay that reads a tensor
// whose memory the cache has given to another one is the commonest fault of captured graphs, and
// the driver sees nothing of it.
#pragma once

namespace attach {

/// A frame for each block that lives and was not reported yet: when a capture begins, before its
/// own frame. Others never get one, as an eager program makes millions.
void report_live_blocks();

/// In a forked child.
void drop_blocks_of_parent();

}  // namespace attach
