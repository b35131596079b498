// A second of work with stacks as C++ makes them: templates of the library, virtual calls,
// exceptions, closures.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct shape {
	virtual ~shape() = default;
	virtual double area(int depth) const = 0;
};

struct square : shape {
	double side;
	explicit square(double given) : side(given) {}
	double area(int depth) const override {
		if (depth < 0)
			throw std::runtime_error(std::to_string(side));
		return depth ? area(depth - 1) + side : side * side;
	}
};

static double sum(const std::vector<std::unique_ptr<shape>> &shapes, const std::function<double(double)> &with) {
	std::map<std::string, double> by_name;
	for (const auto &each : shapes)
		by_name[std::to_string(each->area(12))] += with(each->area(3));
	double all = 0;
	for (const auto &[name, value] : by_name)
		all += value + static_cast<double>(name.size());
	return all;
}

int main() {
	std::vector<std::unique_ptr<shape>> shapes;
	for (int i = 0; i < 500; i++)
		shapes.push_back(std::make_unique<square>(i * 7919 % 503));
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
	double all = 0;
	while (std::chrono::steady_clock::now() < end) {
		all += sum(shapes, [&](double value) { return value + all / 1e9; });
		std::sort(shapes.begin(), shapes.end(), [](const auto &a, const auto &b) { return a->area(2) < b->area(2); });
		try {
			all += shapes[0]->area(-1);
		} catch (const std::runtime_error &error) {
			all += static_cast<double>(std::string(error.what()).size());
		}
	}
	return all == 1;
}
