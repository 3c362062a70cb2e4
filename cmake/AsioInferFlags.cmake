# asio_infer_flags: how all of this project's own code is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(ASIO_INFER_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT _lto_works OUTPUT _why_not LANGUAGES CXX)
  if(_lto_works)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  else()
    message(STATUS "Link-time optimisation is off: ${_why_not}")
  endif()
endif()

add_library(asio_infer_flags INTERFACE)
target_compile_definitions(asio_infer_flags INTERFACE ASIO_INFER_VERSION="${ASIO_INFER_VERSION}")
target_include_directories(asio_infer_flags INTERFACE "${PROJECT_SOURCE_DIR}/cpp/include")
if(MSVC)
  target_compile_options(asio_infer_flags INTERFACE /W4 /permissive- /utf-8 $<$<BOOL:${ASIO_INFER_WERROR}>:/WX>)
else()
  # -Wsign-conversion stays off: clang counts it as part of -Wconversion, g++ does not.
  target_compile_options(asio_infer_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wvla -Walloca
    $<$<CONFIG:Release>:-Wframe-larger-than=16384>  # sanitizers make frames larger
    $<$<BOOL:${ASIO_INFER_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 warns of std::string's own copying, wrongly (GCC bug 105651).
    target_compile_options(asio_infer_flags INTERFACE -Wno-restrict)
  endif()
  # No build path in a released binary.
  target_compile_options(asio_infer_flags INTERFACE
    $<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
endif()
