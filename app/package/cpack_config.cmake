# Read by CPack for each kind of package. What a .deb depends on includes the glibc that its files need, which is read
# from them: those of an installation of its own, because CPack asks before it makes one.
if(CPACK_GENERATOR STREQUAL "DEB")
  execute_process(COMMAND ${CPACK_EXPERTSCOPE_NEEDED_GLIBC} OUTPUT_VARIABLE glibc OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  # GLFW loads the libraries of X's extensions by name, and works without them.
  set(CPACK_DEBIAN_PACKAGE_DEPENDS
      "libc6 (>= ${glibc}), libstdc++6 (>= 12), libgcc-s1 (>= 12), libgl1, libx11-6")
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
      "libgl1-mesa-dri, libxcursor1, libxi6, libxinerama1, libxrandr2, openssh-client, python3, python3-venv")
endif()
