// A cubin as far as it is read: machine code of kernels, and for the stub driver what it takes as a
// module.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

inline constexpr const char* kStubSection = ".stub.kernels";

/// Sections behind an ELF header, in order.
class CubinImage {
 public:
  CubinImage() { add("", {}, SHT_NULL); }

  unsigned add(const std::string& name, const std::string& content,
               std::uint32_t type = SHT_PROGBITS, std::uint32_t about = 0) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<std::uint32_t>(names_.size());
    section.sh_type = type;
    section.sh_info = about;
    section.sh_offset = sizeof(Elf64_Ehdr) + content_.size();
    section.sh_size = content.size();
    names_ += name + '\0';
    content_ += content;
    sections_.push_back(section);
    return static_cast<unsigned>(sections_.size() - 1);
  }
  /// Instructions of 16 bytes: moves, and in the middle the wait.
  void kernel(const std::string& name, bool waits) {
    std::string code;
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t words[2] = {waits && i == 4 ? 0x782EULL : 0x7A02ULL, 0};
      code.append(reinterpret_cast<const char*>(words), sizeof words);
    }
    add(".nv.constant0." + name, std::string(64, '\0'), SHT_PROGBITS, add(".text." + name, code));
  }
  std::string bytes() {
    add(".shstrtab", names_ + ".shstrtab" + '\0', SHT_STRTAB);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shoff = sizeof header + content_.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<std::uint16_t>(sections_.size());
    header.e_shstrndx = static_cast<std::uint16_t>(sections_.size() - 1);
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + content_ +
           std::string(reinterpret_cast<const char*>(sections_.data()),
                       sections_.size() * sizeof(Elf64_Shdr));
  }

 private:
  std::string names_;
  std::string content_;
  std::vector<Elf64_Shdr> sections_;
};

/// What the stub driver takes as a module: the image itself, or the section that says it.
inline std::string stub_kernels(const char* image) {
  if (std::strncmp(image, ELFMAG, SELFMAG) != 0) return image;
  Elf64_Ehdr header{};
  std::memcpy(&header, image, sizeof header);
  const auto section = [&](unsigned index) {
    Elf64_Shdr found{};
    std::memcpy(&found, image + header.e_shoff + index * sizeof found, sizeof found);
    return found;
  };
  const char* names = image + section(header.e_shstrndx).sh_offset;
  for (unsigned s = 0; s < header.e_shnum; ++s) {
    const Elf64_Shdr found = section(s);
    if (std::strcmp(names + found.sh_name, kStubSection) == 0)
      return std::string(image + found.sh_offset, found.sh_size);
  }
  return {};
}
