// The pictures and captions of a tour as one page.
#pragma once

#include <span>
#include <string>

#include "engine/model/error.h"

namespace app {

struct TourPicture {
  std::string title;
  std::string caption;
  std::string path;  // of a PNG
};

/// An error names the picture that cannot be read. Pictures without room are left out, and the page
/// says so.
engine::Result<std::string> tour_page(const std::string& title,
                                      std::span<const TourPicture> pictures);

}  // namespace app
