// A card as a picture of twice its size: drawn once more, with a theme of twice the scale, into a
// buffer of its own. Without buttons and without a pointer, so without tooltips; below it a caption
// says what it shows.
#pragma once

#include "app/gui/theme/theme.h"

namespace app {

class Shell;

/// Writes the picture that the shell is due, if it is. Between two frames, with the GL context
/// current; the fonts are rasterised twice, so that the theme's are other ones afterwards.
void write_card_picture(Shell& shell, Theme& theme);

}  // namespace app
