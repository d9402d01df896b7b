#include "app/page/tour_page.h"

#include <fmt/format.h>

#include "app/page/html_page.h"
#include "engine/input/regular_file.h"

namespace app {

engine::Result<std::string> tour_page(const std::string& title,
                                      std::span<const TourPicture> pictures) {
  HtmlPage page(title, private_names());
  int left_out = 0;
  for (const TourPicture& one : pictures) {
    constexpr std::size_t kMaxPictureBytes = std::size_t{64} << 20;
    ENGINE_ASSIGN(const std::string png, engine::read_file(one.path, kMaxPictureBytes));
    page.heading(2, one.title);
    if (!page.picture(std::as_bytes(std::span(png)), one.caption)) {
      page.paragraph(one.caption);
      ++left_out;
    }
  }
  if (left_out > 0) {
    page.paragraph(fmt::format("{} pictures omitted (size limit)", left_out));
  }
  return page.finish();
}

}  // namespace app
